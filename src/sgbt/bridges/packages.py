"""Packages that a bridge leads to, imported when it is crossed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from sgbt.core.errors import ModelError
from sgbt.models import TextClassifier, load_classifier


def imported(module: str, *, package: str) -> Any:
    """A module of another package, or one sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as problem:
        missing = getattr(problem, "name", None) or str(problem)
        raise ModelError(
            expected=f"the package {package}",
            got="an environment without it" if missing.split(".")[0] == module.split(".")[0] else f"no {missing}",
            remedy=f"pip install {package}",
        ) from problem


def classifier_of(source: TextClassifier | str | Path) -> TextClassifier:
    """A classifier as it is, or the one in a folder."""
    return source if isinstance(source, TextClassifier) else load_classifier(source)
