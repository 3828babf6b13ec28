"""Options that have new names: the old ones are read as the new ones, and named in one warning line."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from sgbt.core.errors import SgbtError, SgbtWarning

C = TypeVar("C", bound=type)

_WARNED: set[str] = set()
_GATHERED: list[dict[str, str]] = []


def renamed(**names: str) -> Callable[[C], C]:
    """A class whose keyword arguments had other names: `@renamed(old="new")`."""

    def decorated(kind: C) -> C:
        plain: Callable[..., None] = kind.__init__  # type: ignore[misc]

        @wraps(plain)
        def made(self: Any, *given: Any, **options: Any) -> None:
            plain(self, *given, **current_names(kind, options))

        kind.renamed_options = names  # type: ignore[attr-defined]
        kind.__init__ = made  # type: ignore[misc]
        return kind

    return decorated


def current_names(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a class with their present names."""
    names: Mapping[str, str] = getattr(kind, "renamed_options", {})
    old = {name: names[name] for name in options if name in names}
    for name, new in old.items():
        if new in options:
            raise SgbtError(expected=f"{new} alone", got=f"{name}, its old name, as well", remedy=f"leave {name} out")
    tell_of_old_names(old)
    return {names.get(name, name): value for name, value in options.items()}


def tell_of_old_names(names: Mapping[str, str]) -> None:
    """Warn of old names, each with what stands for it now; each is named once, all of them in one line."""
    new = {name: now for name, now in names.items() if name not in _WARNED}
    if _GATHERED:
        _GATHERED[-1].update(new)
    elif new:
        _WARNED.update(new)
        listed = ", ".join(f"{name} is now {now}" for name, now in new.items())
        warnings.warn(f"options with old names: {listed}", SgbtWarning, stacklevel=2)


@contextlib.contextmanager
def one_warning() -> Iterator[None]:
    """Whatever old names are met meanwhile are named in one line."""
    _GATHERED.append({})
    try:
        yield
    finally:
        tell_of_old_names(_GATHERED.pop())
