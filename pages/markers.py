"""Markers in a Markdown page, and what they are filled with.

    ... certified: <!-- rows: certified imdb-all/grams/certified-maps -->88.3<!-- end --> %

Behind `rows:` stand the name of a figure (a function in pages/figures) and its arguments. A marker that stands alone on
its line holds a block, with an empty line above and below it: a figure that is a string replaces the whole block, one
that is a list of cells replaces the lines below the two header lines of a table, which are written by hand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from sgbt.core.errors import SgbtError, did_you_mean

Filling = str | list[list[str]]
"""What a figure gives: text, or the cells of a table line by line."""
Figure = Callable[..., Filling]

MARKER = re.compile(r"<!-- (?:rows: (?P<call>[^\n]+?)|(?P<end>end)) -->")
ALONE = re.compile(r"[ \t]*\n")
BEGINS_A_LINE = re.compile(r"\s*(?:[-*+>]|\d+[.)])?\s*")


def filled(text: str, figures: Mapping[str, Figure], where: str = "the page") -> str:
    """The same page with everything between markers written anew; an `SgbtError` names the line of a wrong one."""
    parts, place = [], 0
    marks = list(MARKER.finditer(text))
    for number in range(0, len(marks), 2):
        begin, line = marks[number], f"{where}, line {text.count(chr(10), 0, marks[number].start()) + 1}"
        end = marks[number + 1] if number + 1 < len(marks) else None
        if begin["call"] is None or end is None or end["end"] is None:
            raise SgbtError(
                expected="a marker <!-- rows: NAME --> and its own <!-- end -->",
                got=f"{begin[0]} without the other one",
                where=line,
                remedy="write both; one marker cannot hold another",
            )
        try:
            new = _between(text, begin, end, _value(begin["call"], figures))
        except SgbtError as error:
            place_of_rows = f", from {error.where}" if error.where else ""
            raise SgbtError(
                expected=error.expected, got=error.got, where=f"{line}{place_of_rows}", remedy=error.remedy
            ) from error
        parts += [text[place : begin.end()], new]
        place = end.start()
    return "".join((*parts, text[place:]))


def outside(text: str) -> str:
    """A page with three dots in place of its markers and what they hold."""
    return re.sub(r"<!-- rows: [^\n]+? -->.*?<!-- end -->", "...", text, flags=re.DOTALL)


def _value(call: str, figures: Mapping[str, Figure]) -> Filling:
    try:
        name, *arguments = shlex.split(call)
        if name in figures:
            return figures[name](*arguments)
    except (TypeError, KeyError, IndexError, StopIteration, ValueError, OSError) as error:
        raise SgbtError(
            expected="arguments that the figure takes, and rows that have them",
            got=f"{call} ({type(error).__name__}: {error})",
            remedy="compare with the function in pages/figures and with the rows in results/",
        ) from error
    remedy = did_you_mean(name, figures) or "define it"
    raise SgbtError(expected="the name of a figure in pages/figures", got=name, remedy=remedy)


def _between(text: str, begin: re.Match[str], end: re.Match[str], value: Filling) -> str:
    """What belongs between the two markers."""
    held = text[begin.end() : end.start()]
    before = text[text.rfind("\n", 0, begin.start()) + 1 : begin.start()]
    if not before.strip() and ALONE.match(held):
        block = value if isinstance(value, str) else "\n".join([*_header(held, value), *map(table_line, value)])
        return f"\n\n{block.strip(chr(10))}\n\n" if block else "\n\n"
    if not isinstance(value, str) or "\n" in value:
        raise SgbtError(
            expected="a marker alone on its line",
            got="one within a line",
            remedy="this figure is a block: give it lines",
        )
    if BEGINS_A_LINE.fullmatch(before):
        raise SgbtError(
            expected="a word of the sentence before a marker",
            got="a marker where a line begins, which Markdown takes for a block of HTML",
            remedy="break the line elsewhere",
        )
    return value


def _header(held: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """The two lines that a table keeps."""
    header = [line for line in held.splitlines() if line.strip()][:2]
    rule = header[1].strip("| ").split("|") if len(header) == 2 and set(header[1]) <= set("|-: ") else []
    widths = {len(row) for row in rows}
    if widths != {len(rule)}:
        raise SgbtError(
            expected=f"a header line and a rule of {' or '.join(map(str, sorted(widths))) or 'some'} columns",
            got=f"one of {len(rule)}",
            remedy="write | title | ... | and |---|...| between the markers, or mend the figure",
        )
    return header


def table_line(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |"
