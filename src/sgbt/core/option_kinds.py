"""What may be written for an option, judged by the value that it has otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
