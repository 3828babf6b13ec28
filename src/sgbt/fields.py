"""Whether a JSON object has, for each field of a dataclass, a value of the kind that the field is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from sgbt.errors import SgbtError

Fits = Callable[[Any], bool]


def refuse_odd_fields(cls: type, row: Mapping[str, Any], *, kind: type[SgbtError], where: str) -> None:
    """An error of the given kind for the first field whose value is of another kind; what is not a field passes."""
    for name, (wanted, fits) in _kinds(cls).items():
        if name in row and not fits(row[name]):
            raise kind(wanted=f"{wanted} as {name}", got=_shown(row[name]), where=where)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:80] + "..."


@cache
def _kinds(cls: type) -> dict[str, tuple[str, Fits]]:
    """The fields whose annotation says what JSON writes for them."""
    return {field.name: found for field in fields(cls) if (found := _kind(str(field.type)))}


def _kind(annotation: str) -> tuple[str, Fits] | None:
    if annotation.endswith(" | None"):
        inner = _kind(annotation.removesuffix(" | None"))
        return inner and (f"{inner[0]} or nothing", lambda value: value is None or inner[1](value))
    return _KINDS.get(annotation)


def _list_of(each: type) -> Fits:
    return lambda value: isinstance(value, list | tuple) and all(type(item) is each for item in value)


_KINDS: dict[str, tuple[str, Fits]] = {
    "int": ("a whole number", lambda value: type(value) is int),
    "float": ("a number", lambda value: type(value) in (int, float)),
    "bool": ("true or false", lambda value: type(value) is bool),
    "str": ("a text", lambda value: isinstance(value, str)),
    "Verdict": ("a text", lambda value: isinstance(value, str)),
    "tuple[str, ...]": ("a list of texts", _list_of(str)),
    "tuple[Swap, ...]": ("a list of swaps", _list_of(dict)),
    "tuple[Mapping[str, Any], ...]": ("a list of objects", _list_of(dict)),
    "Mapping[str, Any]": ("an object", lambda value: isinstance(value, dict)),
    "dict[str, Any]": ("an object", lambda value: isinstance(value, dict)),
    "Mapping[str, float]": (
        "an object of numbers",
        lambda value: isinstance(value, dict) and all(type(each) in (int, float) for each in value.values()),
    ),
    "Mapping[str, str]": (
        "an object of texts",
        lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
    ),
}
_KINDS |= {"dict[str, float]": _KINDS["Mapping[str, float]"], "dict[str, str]": _KINDS["Mapping[str, str]"]}
