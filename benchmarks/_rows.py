"""What a benchmark measured, as JSON lines: tables of speed in the documents follow from such files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from sgbt.core.errors import EvaluationError, SgbtError
from sgbt.core.files import atomic_write
from sgbt.core.rows import RowFile, RowKind
from sgbt.evaluate.code_version import current_commit


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What cannot be had or is not allowed is one sentence; anything else is a traceback."""
    if issubclass(kind, SgbtError):
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """The rows of one run in place of an earlier run's, each with what made it; all or nothing."""
    made = made_by()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write("".join(json.dumps({**row, **made}) + "\n" for row in rows).encode())


def trials(path: Path, *names: str) -> RowFile[dict[str, Any]]:
    """A file of trials, each with what made it, which an interrupted command goes on with.

    The fields `names` tell trials apart.
    """

    def key(row: Mapping[str, Any]) -> str:
        return json.dumps([row[name] for name in names], sort_keys=True)

    kind: RowKind[dict[str, Any]] = RowKind(
        name="trial", error=EvaluationError, write=json.dumps, read=dict, key=key, title=key, begin=b'{"'
    )
    return RowFile(path, kind)


def done(file: RowFile[dict[str, Any]], *values: object) -> bool:
    """Whether the trial with these values has a row."""
    return json.dumps(values, sort_keys=True) in file.rows


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
