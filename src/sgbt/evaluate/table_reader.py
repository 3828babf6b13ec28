"""Reading a TOML table field by field: each has a kind, and a field that nobody asked for is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from sgbt.core.errors import EvaluationError

T = TypeVar("T")
_MISSING: Any = object()


class TableReader:
    """A table and where it stands; ask for its fields, then `finish`."""

    def __init__(self, fields: dict[str, Any], where: str) -> None:
        self.where = where
        self._fields = dict(fields)
        self._known: list[str] = []

    def text(self, name: str, default: str = _MISSING) -> str:
        """A text."""
        return str(self._take(name, default, str, "a text"))

    def maybe_text(self, name: str) -> str | None:
        """A text, or nothing."""
        found = self._take(name, None, str, "a text")
        return None if found is None else str(found)

    def flag(self, name: str) -> bool:
        """True or false; false where it is not written."""
        return bool(self._take(name, False, bool, "true or false"))

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        """A whole number."""
        found = self._take(name, default, int, "a whole number")
        if isinstance(found, bool) or found < least:
            raise self._refused(name, f"a whole number of at least {least}", found)
        return int(found)

    def maybe_number(self, name: str, *, least: int = 0) -> int | None:
        """A whole number, or nothing."""
        if name not in self._fields:
            self._known.append(name)
            return None
        return self.number(name, 0, least=least)

    def numbers(self, name: str, default: Sequence[int]) -> list[int]:
        """Whole numbers of at least 0, one or more."""
        found = self._take(name, list(default), list, "a list of whole numbers")
        if not found or not all(type(each) is int and each >= 0 for each in found):
            raise self._refused(name, "a list of whole numbers of at least 0", found)
        return list(dict.fromkeys(found))

    def texts(self, name: str, default: Sequence[str] | None) -> tuple[str, ...] | None:
        """Texts, or the default."""
        found = self._take(name, None if default is None else list(default), list, "a list of texts")
        if found is None:
            return None
        if not all(isinstance(each, str) for each in found):
            raise self._refused(name, "a list of texts", found)
        return tuple(found)

    def table(self, name: str) -> dict[str, Any]:
        """A table, empty where there is none."""
        return dict(self._take(name, {}, dict, "a table"))

    def tables(self, name: str, *, needed: bool = True) -> list[TableReader]:
        """Tables in double brackets, each to be read in turn."""
        found = self._take(name, [], list, f"tables [[{name}]]")
        if (needed and not found) or not all(isinstance(each, dict) for each in found):
            raise self._refused(name, f"tables [[{name}]]", found or "none")
        return [TableReader(each, f"{self.where}, {name} {place + 1}") for place, each in enumerate(found)]

    def finish(self) -> None:
        """Refuse what is left over."""
        if self._fields:
            raise EvaluationError(
                expected=f"fields among {', '.join(sorted(self._known))}", got=repr(next(iter(self._fields))),
                where=self.where,
            )  # fmt: skip

    def _take(self, name: str, default: Any, kind: type, expected: str) -> Any:
        self._known.append(name)
        if name not in self._fields:
            if default is _MISSING:
                raise self._refused(name, expected, "none")
            return default
        found = self._fields.pop(name)
        if not isinstance(found, kind):
            raise self._refused(name, expected, found)
        return found

    def _refused(self, name: str, expected: str, got: Any) -> EvaluationError:
        shown = got if isinstance(got, str) else repr(got)
        return EvaluationError(expected=f"{expected} as {name}", got=shown[:80], where=self.where)
