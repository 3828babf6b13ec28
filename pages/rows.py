"""Rows of results/, and the methods whose runs they are."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from sgbt.core.errors import SgbtError
from sgbt.evaluate import Paired, read_records
from sgbt.report.methods import MethodRuns, comparisons, methods_of

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
Row = dict[str, Any]


@cache
def rows(path: str) -> list[Row]:
    """The rows of results/PATH.jsonl."""
    return [json.loads(line) for line in (RESULTS / f"{path}.jsonl").read_text(encoding="utf-8").splitlines()]


@cache
def methods(path: str) -> list[MethodRuns]:
    """The methods of results/PATH/records.jsonl, or of results/PATH.jsonl."""
    folder = RESULTS / path / "records.jsonl"
    return methods_of(read_records(folder if folder.is_file() else RESULTS / f"{path}.jsonl"))


def matching(path: str) -> list[MethodRuns]:
    """The methods of a path such as `table1-small/imdb/cnn/ibp`.

    A folder or file of results/, then dataset and model as far as they are needed, then the label, in which * stands
    for anything.
    """
    parts = path.split("/")
    start = 2 if parts[0] == "trials" else 1
    *kinds, label = parts[start:]
    return [
        each
        for each in methods("/".join(parts[:start]))
        if set(kinds) <= {each.first.dataset, each.first.model} and fnmatchcase(each.label, label)
    ]


def method(path: str) -> MethodRuns:
    """The one method of a path."""
    found = matching(path)
    if len(found) != 1:
        labels = ", ".join(f"{each.first.dataset}/{each.first.model}/{each.label}" for each in found) or "none"
        raise SgbtError(expected=f"one method {path}", got=labels, remedy="name folder/dataset/model/label")
    return found[0]


@cache
def pair(first: str, second: str) -> dict[str, Paired]:
    """How two methods differ on the same texts, by metric; where the second has a *, the one nearest on dev."""
    own, others = method(first), matching(second)
    label = second.rpartition("/")[2]
    found = {each.metric: each.result for each in comparisons([own, *others], (own.label, label))}
    if not found:
        raise SgbtError(expected=f"{first} and {second} on the same texts", got="none", remedy="look at their records")
    return found


def percent(value: float, digits: int = 1) -> str:
    """A share in percent, without the sign."""
    return f"{100 * value:.{digits}f}"


def shown(method: MethodRuns, name: str, attack: str | None = None) -> str:
    """A figure as the report has it, without interval or spread."""
    return method.figure(name, attack).text.partition(" ")[0]
