"""Table: columns of rows that came from a file, with errors that name the file, the row and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sgbt.core.errors import DataError

MOST_COLUMNS = 100_000
"""Columns of a table; a file with more is hardly one."""
SHOWN_COLUMNS, SHOWN_LETTERS = 20, 40
"""How much of a header an error shows."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length by name; row i came from line `lines[i]` of `source` (1 is the first)."""

    source: str
    columns: dict[str, list[Any]]
    lines: Sequence[int]

    @classmethod
    def joined(cls, parts: Iterable[Table]) -> Table:
        """The rows of tables of one source below each other; what a table has no column for is None."""
        first, *more = parts
        if not more:
            return first
        names = dict.fromkeys(name for part in (first, *more) for name in part.columns)
        columns = {
            name: [value for part in (first, *more) for value in part.columns.get(name, [None] * len(part))]
            for name in names
        }
        return cls(first.source, columns, [line for part in (first, *more) for line in part.lines])

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """The place of a row, for a person."""
        return f"line {self.lines[row]} of {self.source}"

    def column(self, name: str) -> list[Any]:
        """The column of that name or, where there is none, at that position (1 is the first)."""
        if name in self.columns:
            return self.columns[name]
        if name.isascii() and name.isdigit() and len(name) < 9 and 0 < int(name) <= len(self.columns):
            return list(self.columns.values())[int(name) - 1]
        candidates = [column for column in islice(self.columns, 1000) if len(column) <= SHOWN_LETTERS]
        near = difflib.get_close_matches(name[:SHOWN_LETTERS], candidates, n=1)
        remedy = "name the columns, or their positions, with --text and --label; --no-header is for one without names"
        if ".txt" in self.source:
            remedy = "a file ending in .txt is one text a line; give one that has columns the ending .csv"
        raise DataError(
            expected=f"a column named {shown([name])}",
            got=f"the columns {shown(self.columns)}",
            where=self.source,
            remedy=f"did you mean {near[0]!r}?" if near else remedy,
        )

    def texts(self, name: str | None = None) -> list[str]:
        """The texts: the column named, the only one, or that named text."""
        only = next(iter(self.columns)) if len(self.columns) == 1 else "text"
        found = self.column(name or only)
        for place, text in enumerate(found):
            if not isinstance(text, str):
                raise DataError(
                    expected="a text", got=repr(text)[:80], where=self.where(place), remedy="fill or drop the row"
                )
        return found


def shown(names: Collection[str], *, form: Callable[[str], str] = repr) -> str:
    """Names in a row for a sentence: the first few, each cut where it is long, and how many there are in all."""
    cut = (
        name if len(name) <= SHOWN_LETTERS else name[:SHOWN_LETTERS] + "..." for name in islice(names, SHOWN_COLUMNS)
    )
    rest = f", ... ({len(names):,} in all)" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(map(form, cut)) + rest


def refuse_namesakes(header: list[str], where: str) -> None:
    """Refuse a header that names two columns alike."""
    if len(header) > MOST_COLUMNS:
        raise DataError(expected=f"at most {MOST_COLUMNS:,} columns", got=f"{len(header):,}", where=where)
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise DataError(
                expected="a different name for each column",
                got=f"{shown([name])} twice",
                where=where,
                remedy="rename one, or pass --no-header if the file has no line of names",
            )
        seen.add(name)
