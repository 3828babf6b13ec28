"""What runs in a worker process: load the models once, then answer one task after the other.

Every message is a JSON object with a `kind`: `ready` once; then for each task any number of `step`s and one of `done`,
`refused` (a sentence for the person who asked) and `failed` (a bug, or a lack of memory).
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from sgbt.core.errors import SgbtError

READY, STEP, DONE, REFUSED, FAILED = "ready", "step", "done", "refused", "failed"


class Stopped(Exception):  # noqa: N818 - it is not an error, it ends a task that nobody waits for
    """Nobody waits for this task any more."""


def work(runs: Sequence[str], pipe: Connection, behind: Sequence[Any] | None = None) -> None:
    """The life of a worker: it ends when the server closes the pipe, or goes away. `behind` is as in `Pool`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the server's to deal with
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            import torch

            from sgbt.serve.tasks import Desk

            torch.set_num_threads(1)  # processes share the work, not threads
            desk = Desk.open(runs, behind)
        except Exception as problem:
            _send(pipe, _failure(problem))
            return
        _send(pipe, {"kind": READY, "models": desk.describe(), "identities": desk.identities()})
        while True:
            task = json.loads(pipe.recv_bytes())
            if task is not None:  # what is None came too late to stop a task that had ended by itself
                _send(pipe, _answered(desk, task, pipe))


def _answered(desk: Any, task: dict[str, Any], pipe: Connection) -> dict[str, Any]:
    def step(event: dict[str, Any]) -> None:
        if pipe.poll() and json.loads(pipe.recv_bytes()) is None:
            raise Stopped
        _send(pipe, {"kind": STEP, "step": event})

    try:
        return {"kind": DONE, "answer": desk.answer(task, step)}
    except Stopped:
        return {"kind": FAILED, "reason": "stopped"}
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as problem:
        return _failure(problem)


def _failure(problem: Exception) -> dict[str, Any]:
    if isinstance(problem, SgbtError):
        parts = {"expected": problem.expected, "got": problem.got, "where": problem.where, "remedy": problem.remedy}
        return {"kind": REFUSED, "sentence": parts}
    traceback.print_exception(problem, file=sys.stderr)  # for whoever runs the server, never for a client
    return {"kind": FAILED, "reason": "an error in the server; its log has the details"}


def _send(pipe: Connection, message: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(message).encode())
