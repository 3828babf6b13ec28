"""The figures that a marker can name."""

from __future__ import annotations

from typing import TypeVar

from pages.markers import Figure

FIGURES: dict[str, Figure] = {}
F = TypeVar("F", bound=Figure)


def figure(function: F) -> F:
    """Make a function known to markers by its name."""
    if FIGURES.get(function.__name__, function).__module__ != function.__module__:
        raise ValueError(f"there is a figure {function.__name__} already; give this one another name")
    FIGURES[function.__name__] = function
    return function
