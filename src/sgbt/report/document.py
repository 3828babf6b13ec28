"""A report as a value: sections of tables, charts and examples. Each renderer turns all of it into one format."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as a person reads it; `note` has its interval, count and denominator, `quoted` says it is not ours."""

    text: str
    note: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of figures under columns; `commands` has, row by row, what makes the row's figures, where a command does."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Figure, ...], ...]
    note: str = ""
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing as SVG; colours are left to the style of the page, so that it can be light or dark."""

    title: str
    svg: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of text: kept, or an `old` word in whose place an attack put `new`."""

    text: str
    new: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenText:
    """A text that an attack broke."""

    title: str
    before: str
    after: str
    pieces: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One question and what was found; `folded` sections are opened on demand where a format can."""

    title: str
    note: str = ""
    tables: tuple[ReportTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    examples: tuple[BrokenText, ...] = ()
    folded: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.tables or self.charts or self.examples)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    note: str
    sections: tuple[Section, ...] = field(default=())
