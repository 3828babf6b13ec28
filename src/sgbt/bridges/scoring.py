"""A scorer of ours under a name of its own in scikit-learn: `scoring="certified"`.

scikit-learn has no public way to add one: names stand in a dictionary, and every function that takes `scoring` keeps a
set of those there were when it was imported. Where another version keeps them elsewhere, the name is not known there,
and the scorer itself is still taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from sklearn import metrics, model_selection
from sklearn.metrics import _scorer


def register(name: str, scorer: Callable[..., float]) -> None:
    """Let every search and cross-validation take the scorer by its name."""
    getattr(_scorer, "_SCORERS", {}).setdefault(name, scorer)
    for options in _named_options():
        options.add(name)


def _named_options() -> Iterator[set[str]]:
    """What the parameter `scoring` may be called, for each function and class that has it."""
    for module, each in [(part, each) for part in (metrics, model_selection) for each in part.__all__]:
        with contextlib.suppress(AttributeError, ImportError):  # experimental ones are not there unless asked for
            known = getattr(module, each)
            allowed = getattr(known, "_parameter_constraints", getattr(known, "_skl_parameter_constraints", {}))
            for option in allowed.get("scoring", ()):
                names = getattr(option, "options", None)
                if isinstance(names, set):
                    yield names
