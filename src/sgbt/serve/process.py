"""WorkerProcess: one process with the models loaded, our end of the pipe to it, and its end when it must end."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from sgbt.core.errors import ServeError
from sgbt.serve.lanes import TIMED_OUT, Message
from sgbt.serve.worker import FAILED, READY, REFUSED, STEP, work

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
