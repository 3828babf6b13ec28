"""Whether the figures of a run record have the shape that reports count on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sgbt.core.by_class import ByClass
from sgbt.core.errors import EvaluationError
from sgbt.evaluate.outcomes import unpacked

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
_TABLES = {"attacks", "certified_by_budget", "certified_tiers", "dev"}
