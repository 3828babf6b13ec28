"""Packages with the name of the function that users call: `sgbt.certify` and `sgbt.report` are both."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(package: str, function: Callable[..., Any]) -> None:
    """Lets a package be called as its function: whichever of the two was reached first, both work."""

    class CallablePackage(ModuleType):
        def __call__(self, *given: Any, **options: Any) -> Any:
            return function(*given, **options)

    sys.modules[package].__class__ = CallablePackage
