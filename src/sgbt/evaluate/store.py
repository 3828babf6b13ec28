"""Store: a folder of results, each under the key of its unit, whole or not there.

units/KEY/unit.json       what the unit is
units/KEY/model/          of a training: the classifier's folder, with its log
units/KEY/times.json      of a training: the seconds of every epoch
units/KEY/rows.jsonl      of a measurement: one JSON line per text, appended as they come (`sgbt.core.rows`)
units/KEY/result.json     written last: where it is, the unit is finished
units/KEY/error.json      why the last try failed
records.jsonl             one line per run, made from the above (`sgbt.evaluate.gather`)
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from sgbt.core.documents import is_there, read_json_object
from sgbt.core.errors import EvaluationError
from sgbt.core.files import atomic_write, make_folder, writing_errors
from sgbt.core.locks import claim, exclusive
from sgbt.core.rows import RowKind
from sgbt.evaluate.unit import Unit

UNIT, RESULT, ERROR, ROWS, TIMES, MODEL = (
    "unit.json", "result.json", "error.json", "rows.jsonl", "times.json", "model",
)  # fmt: skip
RECORDS = "records.jsonl"
PREDICTIONS: RowKind[dict[str, Any]] = RowKind(
    name="prediction",
    error=EvaluationError,
    write=json.dumps,
    read=lambda fields: {name: int(fields[name]) for name in ("index", "label", "predicted")},
    key=lambda row: row["index"],
    title=lambda row: f"text {row['index']}",
)


class Store:
    """The results of one or more benchmarks in one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def place(self, key: str) -> Path:
        """The folder of a unit."""
        return self.folder / "units" / key

    def result(self, key: str) -> dict[str, Any] | None:
        """What a finished unit says of itself, or None."""
        return self._json(self.place(key) / RESULT)

    def error(self, key: str) -> dict[str, Any] | None:
        """Why the last try failed, or None."""
        return None if self.finished(key) else self._json(self.place(key) / ERROR)

    def finished(self, key: str) -> bool:
        """Whether the result is there."""
        return (self.place(key) / RESULT).is_file()

    def begin(self, unit: Unit) -> Path:
        """The unit's folder, made, with what it is written down."""
        folder = self.place(unit.key)
        make_folder(folder)
        if not (folder / UNIT).is_file():
            self._write(folder / UNIT, json.loads(unit.to_json()))
        return folder

    def finish(self, unit: Unit, result: dict[str, Any]) -> None:
        """Write the result; an error of an earlier try is forgotten after that."""
        self._write(self.place(unit.key) / RESULT, result)
        with writing_errors(self.place(unit.key) / ERROR):
            (self.place(unit.key) / ERROR).unlink(missing_ok=True)

    def fail(self, unit: Unit, error: str, trace: str = "") -> None:
        """Write down why a try failed, unless another try has succeeded."""
        if not self.finished(unit.key):
            self.begin(unit)
            self._write(self.place(unit.key) / ERROR, {"error": error, "trace": trace, "unit": unit.title})

    def locked(self, unit: Unit) -> contextlib.AbstractContextManager[None]:
        """Only one process works on a unit at a time; a second one waits, and finds it finished."""
        return exclusive(self.place(unit.key) / ".lock")

    def driven(self) -> contextlib.AbstractContextManager[None]:
        """Only one benchmark at a time hands out work from this folder."""
        return claim(self.folder / ".lock", expected="a folder that no other benchmark works in", kind=EvaluationError)

    def _json(self, path: Path) -> dict[str, Any] | None:
        if not is_there(path):
            return None
        remedy = "delete the folder it is in; that work is then done again"
        return read_json_object(
            path, kind=EvaluationError, expected="a file that sgbt wrote", remedy=remedy, finite=False
        )

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        with atomic_write(path) as stream:
            stream.write((json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def read_times(path: Path) -> dict[str, float]:
    """The seconds of every epoch that a training has kept; none where it has kept none."""
    if not path.is_file():
        return {}
    times = read_json_object(path, kind=EvaluationError, expected="the seconds of every epoch")
    if odd := [each for each in times.values() if type(each) not in (int, float)]:
        raise EvaluationError(expected="the seconds of every epoch", got=repr(odd[0])[:80], where=str(path))
    return times
