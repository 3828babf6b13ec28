"""Jobs and the lanes in which they wait: predictions, other single texts, and files never wait for one another.

Within a lane clients take turns, so that one with many jobs does not keep others waiting, and the jobs of clients that
have left neither run nor take up a place.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from sgbt.serve.limits import Limits
from sgbt.serve.worker import DONE, FAILED, REFUSED

Message = dict[str, Any]
TIMED_OUT, LEFT = "timed out", "left"
FINAL = (DONE, REFUSED, FAILED, TIMED_OUT, LEFT)


class Lane(StrEnum):
    """What a job has to wait for: others of its kind alone."""

    PREDICT = "predict"
    TEXT = "text"
    FILE = "file"


LANES = {"predict": Lane.PREDICT, "csv": Lane.FILE}
"""The lane of each thing to do; what is not here is about one text."""


class BusyError(Exception):
    """Too many jobs wait, in all or of this client."""


class Job:
    """One task on its way: whoever submitted it reads its messages, the last of which is one of `FINAL`."""

    def __init__(
        self, task: Mapping[str, Any], seconds: float, loop: asyncio.AbstractEventLoop, *, client: str = ""
    ) -> None:
        self.task, self.seconds, self.client = task, seconds, client
        self.lane = LANES.get(task["do"], Lane.TEXT)
        self.size = sum(map(len, task["texts"])) if "texts" in task else len(task["text"])
        self._loop = loop
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self.cancelled = False

    def tell(self, message: Message) -> None:
        """Pass a message on to the loop of whoever waits; nobody may be there any more."""
        deliver([(self, message)])

    def leave(self) -> None:
        """Nobody waits for the answer any more; call it from the loop of whoever waited."""
        self.cancelled = True
        self._messages.put_nowait({"kind": LEFT})

    async def messages(self) -> AsyncIterator[Message]:
        """All messages up to the last. Whoever stops reading before cancels the job."""
        try:
            while True:
                message = await self._messages.get()
                yield message
                if message["kind"] in FINAL:
                    return
        finally:
            self.cancelled = True

    async def last(self) -> Message:
        """The last message; whoever stops waiting for it cancels the job."""
        try:
            while (message := await self._messages.get())["kind"] not in FINAL:
                pass
            return message
        finally:
            self.cancelled = True


def deliver(letters: Iterable[tuple[Job, Message]]) -> None:
    """Pass messages on from another thread, waking each loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Message]]] = {}
    for job, message in letters:
        by_loop.setdefault(job._loop, []).append((job, message))
    for loop, own in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is there any more
            loop.call_soon_threadsafe(_handed_out, own)


def _handed_out(letters: Sequence[tuple[Job, Message]]) -> None:
    for job, message in letters:
        job._messages.put_nowait(message)


class Lanes:
    """The jobs that wait. Where `together`, the same workers look after lane PREDICT and lane TEXT."""

    def __init__(self, limits: Limits, *, together: bool = False) -> None:
        self._limits = limits
        self._waiting: dict[Lane, OrderedDict[str, deque[Job]]] = {lane: OrderedDict() for lane in Lane}
        self._counts, self._sizes = dict.fromkeys(Lane, 0), dict.fromkeys(Lane, 0)
        self._lock = threading.Lock()
        self._filled = {lane: threading.Condition(self._lock) for lane in Lane}
        if together:
            self._filled[Lane.TEXT] = self._filled[Lane.PREDICT]
        self._closed = False

    def put(self, job: Job) -> None:
        """Have a job wait, unless too many do."""
        with self._lock:
            if not self._has_place(job):
                self._forget(job.lane)
                if not self._has_place(job):
                    raise BusyError
            self._waiting[job.lane].setdefault(job.client, deque()).append(job)
            self._counts[job.lane] += 1
            self._sizes[job.lane] += job.size
            self._filled[job.lane].notify()

    def take(self, lanes: Sequence[Lane]) -> list[Job]:
        """The next job of the first of the lanes that has one, or as many predictions as go together; none at the end.

        Predictions go together if they ask the same model, up to so many texts and letters.
        """
        with self._lock:
            while not self._closed:
                for lane in lanes:
                    if jobs := self._next(lane):
                        return jobs
                self._filled[lanes[0]].wait()
            return []

    def close(self) -> None:
        """Have nobody wait for jobs any more."""
        with self._lock:
            self._closed = True
            for filled in self._filled.values():
                filled.notify_all()

    def count(self, lane: Lane) -> int:
        """How many jobs wait in a lane."""
        return self._counts[lane]

    def _next(self, lane: Lane) -> list[Job]:
        jobs: list[Job] = []
        texts = size = 0
        while (job := self._first(lane)) is not None:
            more = len(job.task["texts"]) if lane is Lane.PREDICT else 1
            fits = texts + more <= self._limits.batch_texts and size + job.size <= self._limits.batch_bytes
            if jobs and not (lane is Lane.PREDICT and fits and job.task["model"] == jobs[0].task["model"]):
                break
            self._drop_first(lane)
            if not job.cancelled:
                jobs.append(job)
                texts, size = texts + more, size + job.size
        return jobs

    def _first(self, lane: Lane) -> Job | None:
        return next(iter(self._waiting[lane].values()))[0] if self._waiting[lane] else None

    def _drop_first(self, lane: Lane) -> None:
        """Take the first job off; its client is last in line from now on."""
        client, jobs = self._waiting[lane].popitem(last=False)
        self._sizes[lane] -= jobs.popleft().size
        self._counts[lane] -= 1
        if jobs:
            self._waiting[lane][client] = jobs

    def _has_place(self, job: Job) -> bool:
        most = self._limits.queued_predictions if job.lane is Lane.PREDICT else self._limits.queued
        waiting = self._waiting[job.lane]
        return (
            self._counts[job.lane] < most
            and len(waiting.get(job.client, ())) < max(most // 2, 1)
            and self._sizes[job.lane] + job.size <= self._limits.queued_bytes
        )

    def _forget(self, lane: Lane) -> None:
        """Drop the jobs that nobody waits for."""
        left = [job for jobs in self._waiting[lane].values() for job in jobs if not job.cancelled]
        self._waiting[lane].clear()
        for job in left:
            self._waiting[lane].setdefault(job.client, deque()).append(job)
        self._counts[lane], self._sizes[lane] = len(left), sum(job.size for job in left)
