"""compiled: loops over arrays, by Numba where it is installed; else they run as they stand, several times slower."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called; what is compiled is kept beside the source where that can be."""
    return _compiled(function)


def compiled_in_place(function: Function) -> Function:
    """The same for loops that make no array, not even a part of one: these are told not to count references."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: Any) -> Function:
    try:
        numba: Any = import_module("numba")
    except ImportError:
        return function
    try:
        found: Function = numba.njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:  # nowhere to keep it
        found = numba.njit(error_model="numpy", **options)(function)
    return found
