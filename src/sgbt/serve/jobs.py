"""Pool: worker processes, the lanes before them, and an end to every job that takes too long or that nobody waits for.

The models live in the workers; the server's own process never computes. A job that overruns its time is ended with its
process, whatever it is doing, and a new process takes its place. Messages between processes are JSON, so nothing that a
request brought along is ever unpickled.

Predictions that arrive while their worker is busy are answered by one call of the model. Nobody waits for a batch to
fill up; and if a batch cannot be answered, its parts are, one by one, so that no text spoils its neighbours' answers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sgbt.core.errors import SgbtError
from sgbt.serve.lanes import Job, Lane, Lanes, Message, deliver
from sgbt.serve.limits import Limits
from sgbt.serve.metrics import Metrics
from sgbt.serve.process import GONE, WorkerProcess
from sgbt.serve.worker import DONE, FAILED


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
