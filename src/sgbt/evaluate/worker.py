"""A worker process: `python -m sgbt.evaluate.worker STORE [DATA_HOME]`, units in, one JSON line each; events out.

It keeps what it has read between units, ends when its input ends, and dies with the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from functools import partial
from pathlib import Path
from typing import IO

from sgbt.core.errors import SgbtError
from sgbt.core.machine import end_with_parent
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import Unit
from sgbt.evaluate.working import OnProgress, perform

QUIET_SECONDS = 0.5
"""How long a worker keeps news of its progress to itself."""


def main(arguments: list[str]) -> None:
    """Do units until there are no more."""
    parent = int(os.environ.get("SGBT_BENCH_PARENT", os.getppid()))
    end_with_parent()
    if sys.platform != "win32" and os.getppid() != parent:  # there, the parent may be the launcher of an environment
        return  # it died before we could ask to die with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted benchmark ends its workers itself
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what anything prints must not come between the events
    store, materials = Store(arguments[0]), Materials(Path(arguments[1]) if len(arguments) > 1 else None)
    for line in sys.stdin:
        unit = Unit.from_json(line)
        error = attempt(unit, store, materials, now_and_then(partial(_send_fraction, events, unit.key)))
        _send(events, key=unit.key, state="failed" if error else "finished", error=error)


def attempt(unit: Unit, store: Store, materials: Materials, progress: OnProgress) -> str:
    """Do a unit; the error, written down in the store, if that fails, and nothing otherwise."""
    try:
        perform(unit, store, materials, progress)
    except SgbtError as problem:
        store.fail(unit, str(problem))
        return str(problem)
    except Exception as problem:
        sentence = f"{type(problem).__name__}: {problem}"
        store.fail(unit, sentence, traceback.format_exc())
        return sentence
    return ""


def now_and_then(progress: OnProgress) -> OnProgress:
    """The same listener, called again only after some time."""
    last = time.monotonic()

    def throttled(fraction: float) -> None:
        nonlocal last
        if time.monotonic() - last > QUIET_SECONDS:
            last = time.monotonic()
            progress(fraction)

    return throttled


def _send_fraction(events: IO[str], key: str, fraction: float) -> None:
    _send(events, key=key, state="running", fraction=fraction)


def _send(events: IO[str], **event: object) -> None:
    events.write(json.dumps(event) + "\n")
    events.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
