"""Pool: worker processes, a bounded queue before them, and an end to every job that takes too long.

The models live in the workers; the server's own process never computes. A job that overruns its time is ended with its
process, whatever it is doing, and a new process takes its place. Messages between processes are JSON, so nothing that a
request brought along is ever unpickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import queue
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sgbt.errors import ServeError, SgbtError
from sgbt.serve.limits import Limits
from sgbt.serve.worker import DONE, FAILED, READY, REFUSED, STEP, work

Message = dict[str, Any]
TIMED_OUT = "timed out"
FINAL = (DONE, REFUSED, FAILED, TIMED_OUT)
GONE = "the process that worked on it ended"
LOOK_SECONDS = 0.2
"""How often a running job is looked at, to see whether its time is up or nobody waits for it any more."""


class BusyError(Exception):
    """The queue is full."""


class Job:
    """One task on its way: whoever submitted it reads its messages, the last of which is one of `FINAL`."""

    def __init__(self, task: Mapping[str, Any], seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        self.task, self.seconds = task, seconds
        self._loop = loop
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self.cancelled = threading.Event()

    def tell(self, message: Message) -> None:
        """Pass a message on to the loop of whoever waits; nobody may be there any more."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._messages.put_nowait, message)

    async def messages(self) -> AsyncIterator[Message]:
        """All messages up to the last. Whoever stops reading before cancels the job."""
        try:
            while True:
                message = await self._messages.get()
                yield message
                if message["kind"] in FINAL:
                    return
        finally:
            self.cancelled.set()


class Pool:
    """The workers of a server; use it as a context manager. `models` describes the models that they have loaded."""

    def __init__(self, runs: Sequence[str | Path], *, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._runs = [str(run) for run in runs]
        self._jobs: queue.Queue[Job | None] = queue.Queue(self.limits.queued)
        self._workers = [_Worker(self._runs) for _ in range(self.limits.workers)]
        self._threads: list[threading.Thread] = []
        self.models: list[dict[str, Any]] = []

    def __enter__(self) -> Pool:
        try:
            for worker in self._workers:
                worker.start()
            for worker in self._workers:
                self.models = worker.wait_until_ready()
        except BaseException:
            self._end_processes()
            raise
        for worker in self._workers:
            thread = threading.Thread(target=self._serve, args=(worker,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *problem: object) -> None:
        for _ in self._threads:
            with contextlib.suppress(queue.Full):
                self._jobs.put_nowait(None)
        self._end_processes()
        for thread in self._threads:
            thread.join(timeout=2)

    def submit(self, task: Mapping[str, Any], *, seconds: float) -> Job:
        """Queue a task from within a running event loop, or refuse it because too many wait already."""
        job = Job(task, seconds, asyncio.get_running_loop())
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            raise BusyError from None
        return job

    def _serve(self, worker: _Worker) -> None:
        while (job := self._jobs.get()) is not None:
            if job.cancelled.is_set():
                continue
            try:
                worker.run(job)
            except SgbtError as problem:  # the worker could not be started again
                job.tell({"kind": FAILED, "reason": str(problem)})
            except OSError:  # the pipe is closed: the server is shutting down, or the process has died this moment
                job.tell({"kind": FAILED, "reason": GONE})
            if worker.closed:
                return

    def _end_processes(self) -> None:
        for worker in self._workers:
            worker.close()


class _Worker:
    """One process and our end of the pipe to it."""

    def __init__(self, runs: Sequence[str]) -> None:
        self._runs = runs
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self.closed = False

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=work, args=(self._runs, theirs), daemon=True)
        process.start()
        self._process = process  # one that could not be started has no end
        theirs.close()  # the worker's copy is the only one left: when it goes, we are told

    def wait_until_ready(self) -> list[dict[str, Any]]:
        message = self._receive()
        if message["kind"] == REFUSED:
            raise ServeError(**message["sentence"])
        if message["kind"] != READY:
            raise ServeError(wanted="models that load", got=message["reason"], remedy="see sgbt --debug explain RUN")
        models: list[dict[str, Any]] = message["models"]
        return models

    def run(self, job: Job) -> None:
        """Run one job to its end, or end it. A process that is gone is replaced first."""
        if self._process is None or not self._process.is_alive():
            self._again()
        assert self._pipe is not None
        self._pipe.send_bytes(json.dumps(job.task).encode())
        deadline = time.monotonic() + job.seconds
        asked_to_stop = False
        while True:
            if self._pipe.poll(LOOK_SECONDS):
                message = self._receive()
                job.tell(message)
                if message["kind"] != STEP:
                    return
            if time.monotonic() > deadline:
                job.tell({"kind": TIMED_OUT, "seconds": job.seconds})
                self._again()
                return
            if job.cancelled.is_set() and not asked_to_stop:
                self._pipe.send_bytes(b"null")  # a job that has steps ends at the next one
                asked_to_stop = True

    def close(self) -> None:
        self.closed = True
        self._end()

    def _receive(self) -> Message:
        assert self._pipe is not None
        try:
            message: Message = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            return {"kind": FAILED, "reason": GONE}
        return message

    def _again(self) -> None:
        self._end()
        if not self.closed:
            self.start()
            self.wait_until_ready()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
