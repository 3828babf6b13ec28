"""The log of a run, and its plot: one JSON line per step with every loss part, one per epoch with the dev scores."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgbt.core.documents import json_object, read_bounded
from sgbt.core.errors import TrainingError
from sgbt.core.files import atomic_write

FILE = "log.jsonl"


@dataclass(slots=True)
class RunLog:
    """Rows in memory and, when there is a folder, appended to `log.jsonl` as they come."""

    folder: Path | None
    rows: list[dict[str, Any]]
    _unwritten: int = 0

    @staticmethod
    def resume(folder: Path | None, *, epoch: int, step: int) -> RunLog:
        """The log up to where the checkpoint stands: rows behind it will be made again, so they are dropped."""
        rows = (
            [row for row in read_log(folder) if (row["epoch"], row.get("step", -1)) < (epoch, step)] if folder else []
        )
        if folder and (folder / FILE).exists():
            with atomic_write(folder / FILE) as stream:
                stream.write("".join(json.dumps(row) + "\n" for row in rows).encode())
        return RunLog(folder, rows)

    def add(self, **row: Any) -> None:
        """Append one row; it reaches the disk with the next `flush`."""
        self.rows.append(row)
        self._unwritten += 1

    def flush(self) -> None:
        """Append what is new to the file."""
        if self.folder and self._unwritten:
            path = self.folder / FILE
            try:
                with path.open("a", encoding="utf-8") as stream:
                    stream.write("".join(json.dumps(row) + "\n" for row in self.rows[-self._unwritten :]))
                    stream.flush()
                    os.fsync(stream.fileno())  # before the checkpoint that counts on these rows
            except OSError as problem:
                raise TrainingError(
                    expected="to write the log",
                    got=(problem.strerror or str(problem)).lower(),
                    where=str(path),
                    remedy="make room and run the same command again: it goes on from the last checkpoint",
                ) from problem
        self._unwritten = 0


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run; a last line that a kill cut short is left out."""
    path = folder / FILE
    if not path.is_file():
        return []
    rows = []
    content = read_bounded(path, kind=TrainingError, expected="the log of a run")
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        row = json_object(line, kind=TrainingError, where=where, finite=False)
        if type(row.get("epoch")) is not int:
            raise TrainingError(expected="rows that sgbt wrote", got="one without its epoch", where=where)
        rows.append(row)
    return rows


def plot_log(rows: list[dict[str, Any]], path: Path) -> bool:
    """Draw the log of a run into a PNG file; False, and nothing written, where matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return False
    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    steps = [row for row in rows if "parts" in row]
    ends = [row for row in rows if "dev" in row]
    per_epoch = max((row["step"] for row in ends), default=max((row["step"] for row in steps), default=0) + 1) or 1
    figure = Figure(figsize=(9, 6), layout="constrained")
    losses, scores = figure.subplots(2, 1, sharex=True)
    for name in dict.fromkeys(name for row in steps for name in row["parts"]):
        shown = [row for row in steps if name in row["parts"]]
        at = [row["epoch"] + row["step"] / per_epoch for row in shown]
        losses.plot(at, _smoothed([row["parts"][name] for row in shown]), label=name.replace("_", " "))
    losses.set_ylabel("loss part (running mean)")
    losses.set_yscale("symlog", linthresh=0.01)
    scores.plot(
        [row["epoch"] + row["step"] / per_epoch for row in steps],
        _smoothed([row["accuracy"] for row in steps]),
        label="train accuracy",
    )
    for name in [name for name in (ends[0]["dev"] if ends else {}) if name != "score"]:
        scores.plot([row["epoch"] + 1 for row in ends], [row["dev"][name] for row in ends], "o-", label=f"dev {name}")
    scores.set_ylabel("share of texts")
    scores.set_xlabel("epochs")
    for axis in (losses, scores):
        axis.grid(alpha=0.3)
        axis.legend(loc="best", fontsize="small")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    with atomic_write(path) as stream:
        stream.write(picture.getvalue())
    return True


def _smoothed(values: list[float], window: int = 50) -> list[float]:
    """Running means over the last `window` values."""
    sums, result = 0.0, []
    for place, value in enumerate(values):
        sums += value
        if place >= window:
            sums -= values[place - window]
        result.append(sums / min(place + 1, window))
    return result
