"""RunRecord: one trained and measured model as one JSON line, with everything that its figures depend on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sgbt.core.errors import EvaluationError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.rows import RowKind, read_rows, write_rows
from sgbt.core.shares import ByClass, Share
from sgbt.evaluate.grid import DEV
from sgbt.evaluate.significance import Outcomes, unpacked

Fits = Callable[[Any], bool]


def check_figures(row: Mapping[str, Any]) -> None:
    """Refuse the first figure, outcome or point of a curve that `RunRecord.to_line` cannot have written."""
    _check_metrics(row["metrics"], "metrics")
    for name, outcome in row.get("outcomes", {}).items():
        _refuse_unless(isinstance(outcome, dict), "outcomes that sgbt wrote", name, "outcomes")
        unpacked(outcome)
    for point in row["curve"]:
        _check_point(point, "curve")
    for words in row["weakest"]:
        fits = isinstance(words, list) and len(words) == 3 and [type(each) for each in words] == [str, str, int]
        _refuse_unless(fits, "two words and a count", words, "weakest")


def _check_metrics(figures: Any, where: str) -> None:
    _refuse_unless(isinstance(figures, dict), "figures by name", figures, where)
    for name, value in figures.items():
        if name == "by_class":
            _check_classes(value, where)
            continue
        if isinstance(value, dict):
            _check_metrics(value, f"{where}, {name}")
            continue
        expected, fits = next((rule for ending, rule in _RULES.items() if name.endswith(ending)), _FIGURE)
        _refuse_unless(fits(value), f"{expected} as {name}", value, where)
    for name in _SHARES:
        count, total = figures.get(f"{name}_count"), figures.get(f"{name}_total")
        paired = (count is None) == (total is None) and (count is None or count <= total)
        _refuse_unless(paired, f"{name}_count of at most {name}_total", f"{count} of {total}", where)
    for name in _TABLES & figures.keys():
        _refuse_unless(isinstance(figures[name], dict), f"figures by name as {name}", figures[name], where)


def _check_classes(value: Any, where: str) -> None:
    try:
        _refuse_unless(isinstance(value, dict), "figures by class", value, where)
        ByClass.from_json(value)
    except ValueError as problem:
        raise EvaluationError(expected="figures by class", got=str(problem), where=where) from problem


def _check_point(point: Any, where: str) -> None:
    _refuse_unless(isinstance(point, dict) and type(point.get("epoch")) is int, "an epoch", point, where)
    for name in ("parts", "dev"):
        part = point.get(name)
        fits = isinstance(part, dict) and all(map(_is_number, part.values()))
        _refuse_unless(fits, f"numbers by name as {name}", part, where)
    _refuse_unless(type(point.get("best")) is bool, "true or false as best", point.get("best"), where)
    _refuse_unless(_FIGURE[1](point.get("accuracy")), "a number as accuracy", point.get("accuracy"), where)


def _refuse_unless(fits: bool, expected: str, got: Any, where: str) -> None:
    if not fits:
        raise EvaluationError(expected=expected, got=repr(got)[:80], where=where)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_interval(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))


_FIGURE: tuple[str, Fits] = ("a number", lambda value: value is None or _is_number(value))
_RULES: dict[str, tuple[str, Fits]] = {
    "_count": ("a count", lambda value: type(value) is int and value >= 0),
    "_total": ("a count", lambda value: type(value) is int and value >= 0),
    "_interval": ("two numbers", _is_interval),
}
_SHARES = ("clean", "certified", "certified_of_correct", "vacuous", "robust", "aua", "success")
_TABLES = {"attacks", "certified_by_budget", "certified_tiers", "dev", "threats"}


FORMAT = 1


@dataclass(frozen=True)
class RunOfCell:
    """Which cell of a grid a run is of, how it is trained, and on what."""

    grid: str
    dataset: str
    model: str
    objective: str
    label: str
    seed: int
    config: Mapping[str, Any]
    substitutions: Mapping[str, Any]
    data_hash: str


@dataclass(frozen=True)
class RunRecord(RunOfCell):
    """What was trained on what, how, and what was measured.

    `label` names the method within its grid: the objective, or a variant of it. `substitutions` has the `name` and
    `hash` of the table that attacks and certificates worked with. `metrics` has the figures of
    `sgbt.evaluate.metrics`: `clean_accuracy`, `certified_accuracy` and, under `attacks`, each method's
    `robust_accuracy`, `aua` and `success_rate`, all with their counts and intervals, and `by_class`; what is not
    measured yet is absent. `outcomes` says text by text what stayed right, so that two methods can be compared in
    pairs. `units` are the keys of the work that the figures come from. `model_hash` is the
    identity of the trained model; records of earlier versions have none.
    """

    commit: str
    command: str
    units: Mapping[str, str]
    metrics: Mapping[str, Any]
    outcomes: Mapping[str, Any] = field(default_factory=dict)
    curve: tuple[Mapping[str, Any], ...] = ()
    weakest: tuple[Any, ...] = ()
    format: int = FORMAT
    model_hash: str = ""

    @property
    def name(self) -> str:
        """How the record is called within its grid."""
        return f"{self.dataset}/{self.model}/{self.label}/{self.seed}"

    @property
    def texts(self) -> str:
        """Which texts were measured, in tables: the dataset's name stands for its test split."""
        return f"{self.dataset}, on dev" if self.config.get("split") == DEV else self.dataset

    @property
    def method(self) -> tuple[str, str, str, str]:
        """What records that differ in the seed alone have in common."""
        return self.texts, self.model, self.label, str(self.substitutions["name"])

    @property
    def attacks(self) -> Mapping[str, Mapping[str, Any]]:
        """The figures of every attack, by its name."""
        found: Mapping[str, Mapping[str, Any]] = self.metrics.get("attacks", {})
        return found

    @property
    def threats(self) -> Mapping[str, Mapping[str, Any]]:
        """The figures of certificates against every threat, by its name."""
        found: Mapping[str, Mapping[str, Any]] = self.metrics.get("threats", {})
        return found

    @property
    def by_class(self) -> ByClass | None:
        """What the model does with each class, if that was measured."""
        found = self.metrics.get("by_class")
        return None if found is None else ByClass.from_json(found)

    def share(self, name: str, attack: str | None = None) -> Share | None:
        """A metric as a share (`clean`, `certified`; `robust`, `aua`, `success` of an attack), if it was measured."""
        figures = self.metrics if attack is None else self.attacks.get(attack, {})
        if f"{name}_total" not in figures:
            return None
        return Share(int(figures[f"{name}_count"]), int(figures[f"{name}_total"]))

    def outcome(self, name: str) -> Outcomes | None:
        """For every text whether it is right (`clean`), certified, or robust under an attack of that name."""
        return unpacked(self.outcomes[name]) if name in self.outcomes else None

    def to_line(self) -> str:
        """The record as one line of JSON, the same for the same record."""
        row = asdict(self)
        if not self.model_hash:  # a record of an earlier version stays as it was written
            del row["model_hash"]
        return json.dumps(row, sort_keys=True, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_row(row: dict[str, Any]) -> RunRecord:
        """The record whose fields `to_line` wrote."""
        if row["format"] > FORMAT:
            raise EvaluationError(
                expected=f"run records of format {FORMAT}", got=str(row["format"]), remedy="upgrade sgbt"
            )
        refuse_odd_fields(RunRecord, row, kind=EvaluationError, where="")
        check_figures(row)
        record = RunRecord(**row | {"curve": tuple(row["curve"]), "weakest": tuple(row["weakest"])})
        record.name, record.method, dict(record.metrics)  # what has the wrong shape shows itself now
        return record


RECORDS = RowKind(
    name="run record",
    error=EvaluationError,
    write=RunRecord.to_line,
    read=RunRecord.from_row,
    key=lambda row: (row.grid, row.name, json.dumps([row.units, row.substitutions], sort_keys=True)),
    title=lambda row: f"{row.name} of {row.grid}",
    finite=True,
)


def write_records(records: Iterable[RunRecord], path: Path) -> None:
    """One line each, in the order given; all or nothing."""
    write_rows(path, RECORDS, records)


def read_records(path: str | Path) -> list[RunRecord]:
    """The records of a file, or of all `.jsonl` files under a folder that hold records."""
    path = Path(path)
    files = sorted(path.rglob("records*.jsonl")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise EvaluationError(
            expected="a file of run records", got="nothing there", where=str(path), remedy="run sgbt bench first"
        )
    return [record for file in files for record in read_rows(file, RECORDS)]
