"""Rows of a table file, all of them or a few at a time, so that files of any size are read in bounded memory."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from sgbt.core.documents import json_object
from sgbt.core.errors import DataError, SgbtWarning
from sgbt.data.file_text import AUTO, lines_of, opened, refuse_file_that_is_not_one, spreadsheet
from sgbt.data.tables import Table, refuse_namesakes, shown

FORMATS = ("csv", "tsv", "jsonl", "text", "parquet")
"""`text` is one text in each line."""
ENDINGS = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl", ".txt": "text"}
ROWS = 2048
"""Rows at a time."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
LOOKED_AT = 50
"""Lines by which a separator is guessed."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a table is written in a file. What is `auto` is seen from the file itself, and said where it is not usual.

    `separator` is a letter or one of comma, semicolon, tab and pipe; without a `header`, columns are named 1, 2, ...
    """

    encoding: str = AUTO
    separator: str = AUTO
    header: bool = True

    def __post_init__(self) -> None:
        if self.separator != AUTO and len(self.letter) != 1:
            raise DataError(
                expected=f"one letter, or one of {', '.join(SEPARATORS)}", got=repr(self.separator), where="--separator"
            )

    @property
    def letter(self) -> str:
        """The separator itself."""
        return "\t" if self.separator == "\\t" else SEPARATORS.get(self.separator, self.separator)


def format_of(path: Path) -> str:
    """The format that a file's name says; a `.gz` behind it does not count."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in SHEETS:
        raise spreadsheet(path)
    if suffix not in ENDINGS:
        raise DataError(
            expected="a file ending in .csv, .tsv, .jsonl, .txt or .parquet (or one of them with .gz)",
            got=repr(path.name),
            where=str(path.parent),
            remedy="convert it, or give the file its proper ending",
        )
    return ENDINGS[suffix]


def read_table(path: Path, layout: FileLayout | None = None, *, names: Sequence[str] | None = None) -> Table:
    """All rows of a CSV, TSV, JSONL or Parquet file, gzipped or not; `names` for a CSV file without a header."""
    refuse_file_that_is_not_one(path)
    return Table.joined(chunks(path, format_of(path), layout, rows=1 << 40, names=names))


def read_csv(text: str, *, source: str) -> Table:
    """The rows of a CSV file that is at hand as text; `source` is what errors call it."""
    return Table.joined(_with_rows(rows_of("csv", io.StringIO(text, newline=""), source, FileLayout()), source))


def chunks(
    source: Path | TextIO,
    form: str,
    layout: FileLayout | None = None,
    *,
    rows: int = ROWS,
    names: Sequence[str] | None = None,
    groups: range | None = None,
) -> Iterator[Table]:
    """The rows of a file, or of a stream such as standard input, as tables of at most `rows` rows.

    `groups` are the row groups to read of a Parquet file; otherwise all of them.
    """
    layout = layout or FileLayout()
    name = str(source) if isinstance(source, Path) else "standard input"
    if form == "parquet":
        if not isinstance(source, Path):
            raise DataError(expected="a Parquet file", got="standard input", remedy="write it to a file first")
        yield from _with_rows(_parquet(source, min(rows, 1 << 16), groups), name)
        return
    with lines_of(source, layout.encoding) as lines:
        yield from _with_rows(rows_of(form, lines, name, layout, rows, names), name)


def _with_rows(tables: Iterator[Table], name: str) -> Iterator[Table]:
    """The tables, which are not allowed to have no row at all."""
    empty, header = True, False
    for table in tables:
        empty, header = empty and not len(table), True
        if len(table):
            yield table
    if empty:
        got = "a header and nothing below it" if header else "an empty file"
        raise DataError(expected="rows of data", got=got, where=name)


def rows_of(
    form: str,
    lines: Iterable[str],
    name: str,
    layout: FileLayout,
    rows: int = 1 << 40,
    names: Sequence[str] | None = None,
) -> Iterator[Table]:
    """The rows of lines in a format; `name` is what errors call where they came from."""
    if form in ("csv", "tsv"):
        return _csv(lines, name, rows, "," if form == "csv" else "\t", layout, names)
    make: Callable[[Iterable[str], str], Iterator[tuple[int, dict[str, Any]]]] = _jsonl if form == "jsonl" else _text
    return _objects(make(lines, name), name, rows)


def separator_of(lines: list[str], usual: str) -> str:
    """The separator by which lines are a table: the usual one, or else that by which all rows have as many fields.

    Where no separator fits all rows, the one that at least divides the header, so that the odd row can be named.
    """
    counts: dict[str, list[int]] = {}
    for letter in dict.fromkeys([usual, *SEPARATORS.values()]):
        found = [len(row) for row in csv.reader(lines, delimiter=letter) if row]
        counts[letter] = found[:-1] if len(lines) == LOOKED_AT and len(found) > 1 else found  # the last may be cut
    divides = [letter for letter, fields in counts.items() if fields and fields[0] > 1]
    fits = [letter for letter in divides if len(set(counts[letter])) == 1]
    if usual in fits or not divides:
        return usual
    if not fits and usual in divides:
        return usual
    return max(fits or divides, key=lambda letter: counts[letter][0])


def _csv(
    lines: Iterable[str], name: str, rows: int, usual: str, layout: FileLayout, names: Sequence[str] | None
) -> Iterator[Table]:
    csv.field_size_limit(sys.maxsize)
    letter = layout.letter
    if layout.separator == AUTO:
        rest = iter(lines)
        head = list(islice(rest, LOOKED_AT))
        letter, lines = separator_of(head, usual), chain(head, rest)
        if letter != usual:
            sentence = f"{name} has {letter!r} between columns; --separator names another."
            warnings.warn(sentence, SgbtWarning, stacklevel=2)
    found = _csv_rows(lines, name, letter)
    first = next(found, None)
    if first is None:
        return
    header = list(names or ())
    if not names and layout.header:
        header = first[1]
        refuse_namesakes(header, f"line {first[0]} of {name}")
        yield Table(name, {column: [] for column in header}, [])  # that there is a header
    else:
        header = header or [str(place) for place in range(1, len(first[1]) + 1)]
        found = chain([first], found)
    while part := list(islice(found, rows)):
        for line, row in part:
            if len(row) != len(header):
                raise DataError(
                    expected=f"{len(header):,} fields ({shown(header, form=str)})",
                    got=str(len(row)),
                    where=f"line {line} of {name}",
                    remedy="put quotes around a text that contains the separator, or name another with --separator",
                )
        columns = {column: [row[place] for _, row in part] for place, column in enumerate(header)}
        yield Table(name, columns, [line for line, _ in part])


def _csv_rows(lines: Iterable[str], name: str, letter: str) -> Iterator[tuple[int, list[str]]]:
    reader, start = csv.reader(lines, delimiter=letter, strict=True), 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as problem:
        raise DataError(
            expected="a well-formed table",
            got=str(problem),
            where=f"line {start} of {name}",  # where the row begins that never ends
            remedy="check the quotes there",
        ) from problem


def _jsonl(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"line {number} of {name}"
            yield (
                number,
                json_object(line.rstrip("\r\n"), kind=DataError, where=where, expected="one JSON object per line"),
            )


def _text(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, {"text": line.rstrip("\r\n")}) for number, line in enumerate(lines, start=1) if line.strip())


def _objects(found: Iterator[tuple[int, dict[str, Any]]], name: str, rows: int) -> Iterator[Table]:
    while part := list(islice(found, rows)):
        keys = dict.fromkeys(key for _, row in part for key in row)
        yield Table(name, {key: [row.get(key) for _, row in part] for key in keys}, [number for number, _ in part])


def _parquet(path: Path, rows: int, groups: range | None) -> Iterator[Table]:
    with parquet_file(path) as file:
        done = 0
        for batch in file.iter_batches(batch_size=rows, row_groups=None if groups is None else [*groups]):
            yield Table(str(path), batch.to_pydict(), range(done + 1, done + len(batch) + 1))
            done += len(batch)


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """A Parquet file as pyarrow reads it; what is wrong with it is said in a sentence."""
    pyarrow, parquet = pyarrow_for(str(path))
    with opened(path) as stream:
        source = pyarrow.BufferReader(stream.read()) if path.suffix.lower() == ".gz" else path
        try:
            with parquet.ParquetFile(source) as file:
                yield file
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            reason = str(problem).splitlines()[0].rpartition("': ")[2]  # the path in front is named once, below
            raise DataError(
                expected="a whole Parquet file", got=f"one that cannot be read ({reason})", where=str(path)
            ) from problem


def pyarrow_for(where: str) -> tuple[Any, Any]:
    """The packages pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as problem:
        raise DataError(
            expected="pyarrow, which reads and writes Parquet",
            got="an environment without it",
            where=where,
            remedy="pip install 'sgbt[parquet]'",
        ) from problem
    return pyarrow, parquet
