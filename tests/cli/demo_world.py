"""`sgbt demo` in a process of its own, on a made-up world instead of IMDB: to be interrupted, or looked at in a pipe.

python demo_world.py OUT      everything that is made goes to OUT; every step, proof and attack takes a moment
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    os.environ["OMP_NUM_THREADS"] = "1"

from rich.progress import Progress
from tests.soundness.trained import dataset, table, vectors

from sgbt.cli import demo as command
from sgbt.cli import demo_stages
from sgbt.cli.app import main
from sgbt.cli.train_view import TrainingView

MOMENT = 0.02
SIZES = ("--reviews", "200", "--limit", "40")

Put = Callable[[Any, str, Any], None]


def made_up(put: Put = setattr) -> None:
    """Put the made-up world in the place of the real one; the `setattr` of a monkeypatch undoes it afterwards."""
    put(command, "get", lambda name, **options: SimpleNamespace(provider="a test"))
    put(demo_stages, "Reading", lambda name: SimpleNamespace(load=lambda data_home: dataset()))
    put(demo_stages.opt, "vectors_of", lambda *given, **options: vectors())
    put(demo_stages.opt, "table_of", lambda *given, **options: table())


def slowed(put: Put = setattr) -> None:
    """Let whoever watches catch every stage at work."""

    def slow(whole: Callable[..., None]) -> Callable[..., None]:
        def slower(*given: Any, **options: Any) -> None:
            time.sleep(MOMENT)
            whole(*given, **options)

        return slower

    put(TrainingView, "step", slow(TrainingView.step))
    put(Progress, "update", slow(Progress.update))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
    made_up()
    slowed()
    sys.argv = ["sgbt", "demo", "--out", sys.argv[1], *SIZES]
    main()
