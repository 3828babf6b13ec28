"""Which values JSON and TOML may have for a field of a dataclass, and for an option with this default."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from sgbt.core.errors import SgbtError

Fits = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What JSON writes for a field: values of some types and, of lists and objects, what is in them."""

    name: str
    types: frozenset[type]
    within: Fits | None = None

    def fits(self, value: Any) -> bool:
        return type(value) in self.types and (self.within is None or value is None or self.within(value))


def refuse_odd_fields(cls: type, row: Any, *, kind: type[SgbtError], where: str) -> None:
    """An error of the given kind for the first field whose value is of another kind; what is not a field passes."""
    kinds = _kinds(cls)
    if not isinstance(row, dict):
        raise kind(expected=f"an object with the fields of {cls.__name__}", got=_shown(row), where=where)
    for name, value in row.items():
        found = kinds.get(name)
        if found is None or (type(value) in found.types and found.within is None):
            continue  # nearly always: rows are read by the hundred thousand
        if not found.fits(value):
            raise kind(expected=f"{found.name} as {name}", got=_shown(value), where=where)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:80] + "..."


@cache
def _kinds(cls: type) -> dict[str, _Kind]:
    """The fields whose annotation says what JSON writes for them."""
    return {field.name: found for field in fields(cls) if (found := _kind(str(field.type)))}


def _kind(annotation: str) -> _Kind | None:
    if annotation.endswith(" | None"):
        inner = _kind(annotation.removesuffix(" | None"))
        return inner and _Kind(f"{inner.name} or nothing", inner.types | {type(None)}, inner.within)
    return _KINDS.get(annotation)


def _all(types: Collection[type]) -> Fits:
    return lambda value: all(type(each) in types for each in (value.values() if isinstance(value, dict) else value))


_NUMBER = frozenset({int, float})
_TEXT = frozenset({str})
_LIST = frozenset({list, tuple})
_OBJECT = frozenset({dict})
_KINDS: dict[str, _Kind] = {
    "int": _Kind("a whole number", frozenset({int})),
    "float": _Kind("a number", _NUMBER),
    "bool": _Kind("true or false", frozenset({bool})),
    "str": _Kind("a text", _TEXT),
    "Verdict": _Kind("a text", _TEXT),
    "tuple[str, ...]": _Kind("a list of texts", _LIST, _all(_TEXT)),
    "tuple[Swap, ...]": _Kind("a list of swaps", _LIST, _all(_OBJECT)),
    "tuple[Mapping[str, Any], ...]": _Kind("a list of objects", _LIST, _all(_OBJECT)),
    "Mapping[str, Any]": _Kind("an object", _OBJECT),
    "dict[str, Any]": _Kind("an object", _OBJECT),
    "Mapping[str, float]": _Kind("an object of numbers", _OBJECT, _all(_NUMBER)),
    "dict[str, float]": _Kind("an object of numbers", _OBJECT, _all(_NUMBER)),
    "Mapping[str, str]": _Kind("an object of texts", _OBJECT, _all(_TEXT)),
    "dict[str, str]": _Kind("an object of texts", _OBJECT, _all(_TEXT)),
}


@dataclass(frozen=True, slots=True)
class OptionKind:
    """A kind of value: how it is called, and which values are of it."""

    name: str
    fits: Callable[[Any], bool]


def kind_of_option(default: Any) -> OptionKind:
    """The kind of an option with this default. JSON and TOML have lists where Python has tuples."""
    if isinstance(default, bool):
        return OptionKind("true or false", lambda given: isinstance(given, bool))
    if default is None or isinstance(default, int):  # an option that is off by default is a size
        return OptionKind("a whole number", lambda given: isinstance(given, int) and not isinstance(given, bool))
    if isinstance(default, float):
        return OptionKind("a number", lambda given: isinstance(given, int | float) and not isinstance(given, bool))
    if isinstance(default, tuple):
        each = kind_of_option(default[0] if default else 0.0)  # a list that is empty by default is one of numbers
        return OptionKind(
            f"a list of {each.name.removeprefix('a ')}s",
            lambda given: isinstance(given, list | tuple) and all(each.fits(item) for item in given),
        )
    return OptionKind("a text", lambda given: isinstance(given, str))
