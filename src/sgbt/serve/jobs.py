"""Pool: worker processes, the lanes before them, and an end to every job that takes too long or that nobody waits for.

The models live in the workers; the server's own process never computes. A job that overruns its time is ended with its
process, whatever it is doing, and a new process takes its place. Messages between processes are JSON, so nothing that a
request brought along is ever unpickled.

Predictions that arrive while their worker is busy are answered by one call of the model. Nobody waits for a batch to
fill up; and if a batch cannot be answered, its parts are, one by one, so that no text spoils its neighbours' answers.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sgbt.core.errors import ServeError, SgbtError
from sgbt.serve.lanes import TIMED_OUT, Job, Lane, Lanes, Message, deliver
from sgbt.serve.limits import Limits
from sgbt.serve.metrics import Metrics
from sgbt.serve.worker import DONE, FAILED, READY, REFUSED, STEP, work

GONE = "the process that worked on it ended"
LOOK_SECONDS = 0.2
"""How often a running job is looked at, to see whether its time is up or nobody waits for it any more."""
STOP_SECONDS = 2.0
"""How long a job that nobody waits for may go on to its next step, before it is ended with its process."""


class WorkerProcess:
    """A process that can be ended at any moment, and started again. What it loads must be what it loaded before."""

    def __init__(self, runs: Sequence[str], behind: Sequence[Any] | None = None) -> None:
        self._runs, self._behind = runs, behind
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._loaded: list[str] | None = None
        self.closed = False
        self.starts = 0

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.is_alive()

    def start(self) -> None:
        """Start a process; `wait_until_ready` says when it can be asked."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=work, args=(self._runs, theirs, self._behind), daemon=True)
        process.start()
        self._process = process  # one that could not be started has no end
        self.starts += 1
        theirs.close()  # the worker's copy is the only one left: when it closes, this side reads the end of the pipe

    def wait_until_ready(self, announced: Sequence[str] | None = None) -> tuple[list[dict[str, Any]], list[str]]:
        """The models' descriptions and identities, once they are loaded; others than were announced are refused."""
        message = self._receive()
        if message["kind"] == REFUSED:
            raise ServeError(**message["sentence"])
        if message["kind"] != READY:
            raise ServeError(expected="models that load", got=message["reason"], remedy="see sgbt --debug explain RUN")
        models, identities = message["models"], message["identities"]
        if announced is not None and identities != list(announced):
            self.end()
            changed = [run for run, new, old in zip(self._runs, identities, announced, strict=True) if new != old]
            raise ServeError(
                expected="the model that this server announced when it started",
                got="another",
                where=", ".join(changed),
                remedy="put the model back, or start the server again",
            )
        return models, identities

    def revive(self, announced: Sequence[str]) -> None:
        """Start a new process if there is none."""
        if not self.alive and not self.closed:
            self.end()
            self.start()
            self.wait_until_ready(announced)

    def run(
        self, task: Mapping[str, Any], seconds: float, *, listener: Callable[[Message], None], left: Callable[[], bool]
    ) -> Message:
        """The last message of a task. One that overruns its time, or that nobody waits for, is ended."""
        assert self._pipe is not None
        self._pipe.send_bytes(json.dumps(task).encode())
        deadline, stop = time.monotonic() + seconds, float("inf")
        while True:
            if self._pipe.poll(LOOK_SECONDS):
                message = self._receive()
                if message["kind"] != STEP:
                    return message
                listener(message)
            now = time.monotonic()
            if now > deadline:
                self.end()
                return {"kind": TIMED_OUT, "seconds": seconds}
            if now > stop:
                self.end()
                return {"kind": FAILED, "reason": "stopped"}
            if stop == float("inf") and left():
                self._pipe.send_bytes(b"null")  # a job that has steps ends at the next one
                stop = now + STOP_SECONDS

    def close(self) -> None:
        """End it for good."""
        self.closed = True
        self.end()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()

    def _receive(self) -> Message:
        assert self._pipe is not None
        try:
            message: Message = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            return {"kind": FAILED, "reason": GONE}
        return message


class Pool:
    """The workers of a server; use it as a context manager. `models` describes the models that they have loaded.

    Of several processes for texts, half are for predictions alone. The process for files is started with the first.
    `behind` names a model that answers what the first one cannot prove (`sgbt.bridges.guarded.behind_of`), and says how
    sure the first one has to be.
    """

    def __init__(
        self, runs: Sequence[str | Path], *, limits: Limits | None = None, behind: tuple[str, float] | None = None
    ) -> None:
        self.limits, self.behind = limits or Limits(), behind
        self.metrics = Metrics()
        self.lanes = Lanes(self.limits, together=self.limits.workers == 1)
        self.models: list[dict[str, Any]] = []
        self.identities: list[str] = []
        self._problems: dict[WorkerProcess, str] = {}
        folders = [str(run) for run in runs]
        self._workers = [(WorkerProcess(folders, behind), lanes) for lanes in _shares(self.limits.workers)]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Pool:
        try:
            prompt = [worker for worker, lanes in self._workers if Lane.FILE not in lanes]
            for worker in prompt:
                worker.start()
            for worker in prompt:
                self.models, self.identities = worker.wait_until_ready(self.identities or None)
        except BaseException:
            self._end_processes()
            raise
        for worker, lanes in self._workers:
            thread = threading.Thread(target=self._serve, args=(worker, lanes), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *problem: object) -> None:
        self.lanes.close()
        self._end_processes()
        for thread in self._threads:
            thread.join(timeout=2)

    @property
    def problems(self) -> list[str]:
        """Why workers that should be there are not."""
        return list(self._problems.values())

    @property
    def restarts(self) -> int:
        """How many processes were started in the place of others."""
        return sum(max(worker.starts - 1, 0) for worker, _ in self._workers)

    def submit(self, task: Mapping[str, Any], *, seconds: float, client: str = "") -> Job:
        """Have a task wait, from within a running event loop, or refuse it because too many wait already."""
        job = Job(task, seconds, asyncio.get_running_loop(), client=client)
        self.lanes.put(job)
        return job

    def _serve(self, worker: WorkerProcess, lanes: Sequence[Lane]) -> None:
        while jobs := self.lanes.take(lanes):
            answered = self._answered(worker, jobs)
            if len(jobs) > 1 and answered[0]["kind"] != DONE:
                answered = [message for job in jobs for message in self._answered(worker, [job])]
            deliver(zip(jobs, answered, strict=True))
            self.metrics.ended(jobs[0].lane, answered, sum(map(_texts, jobs, answered)))
            if worker.closed:
                return
            if not worker.alive:
                self._revived(worker)

    def _answered(self, worker: WorkerProcess, jobs: Sequence[Job]) -> list[Message]:
        """The last message of each job; all are one in the worker."""
        problem = self._revived(worker)
        if problem is not None:
            return [{"kind": FAILED, "reason": problem}] * len(jobs)
        if jobs[0].lane is not Lane.PREDICT:
            (job,) = jobs
            return [self._run(worker, job.task, jobs)]
        texts = [text for job in jobs for text in job.task["texts"]]
        self.metrics.batch(len(texts))
        message = self._run(worker, dict(jobs[0].task) | {"texts": texts}, jobs)
        if message["kind"] != DONE:
            return [message] * len(jobs)
        answers = iter(message["answer"])
        return [{"kind": DONE, "answer": [next(answers) for _ in job.task["texts"]]} for job in jobs]

    def _run(self, worker: WorkerProcess, task: Mapping[str, Any], jobs: Sequence[Job]) -> Message:
        def left() -> bool:
            return all(job.cancelled for job in jobs)

        try:
            return worker.run(task, max(job.seconds for job in jobs), listener=jobs[0].tell, left=left)
        except OSError:  # the pipe is closed: the server is shutting down, or the process has died this moment
            return {"kind": FAILED, "reason": GONE}

    def _revived(self, worker: WorkerProcess) -> str | None:
        """Have a process that answers, or the reason why there is none."""
        try:
            worker.revive(self.identities)
        except SgbtError as problem:
            self._problems[worker] = str(problem).removesuffix(".")
        except OSError as problem:
            self._problems[worker] = f"no process could be started ({(problem.strerror or str(problem)).lower()})"
        else:
            self._problems.pop(worker, None)
        return self._problems.get(worker)

    def _end_processes(self) -> None:
        for worker, _ in self._workers:
            worker.close()


def _texts(job: Job, message: Message) -> int:
    """How many texts a job was about; those of a file are counted when it was read."""
    if job.lane is Lane.FILE:
        return int(message["answer"]["rows"]) if message["kind"] == DONE else 0
    return len(job.task.get("texts", [""]))


def _shares(workers: int) -> list[tuple[Lane, ...]]:
    """What each process is for."""
    if workers == 1:
        return [(Lane.PREDICT, Lane.TEXT), (Lane.FILE,)]
    lanes = [Lane.PREDICT] * (workers // 2) + [Lane.TEXT] * (workers - workers // 2) + [Lane.FILE]
    return [(lane,) for lane in lanes]
