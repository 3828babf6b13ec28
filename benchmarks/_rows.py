"""What a benchmark measured, as JSON lines: tables of speed in the documents follow from such files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from sgbt.evaluate.commit import current_commit
from sgbt.files import atomic_write


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """The rows of one run in place of an earlier run's, each with what made it; all or nothing."""
    made = made_by()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write("".join(json.dumps({**row, **made}) + "\n" for row in rows).encode())


def append_row(path: Path, row: Mapping[str, object]) -> None:
    """One row more, with what made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(json.dumps({**row, **made_by()}) + "\n")


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def made_by() -> dict[str, object]:
    """The command that runs, its commit and its machine."""
    return {
        "command": command(sys.argv),
        "commit": current_commit(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }


def command(arguments: list[str]) -> str:
    """The command line, every path outside the project by its last part alone."""
    script, *others = arguments
    shown = [Path(each).name if Path(each).is_absolute() else each for each in others]
    return " ".join(["python", f"benchmarks/{Path(script).name}", *shown])
