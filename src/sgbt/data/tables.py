"""Reading rows of any common table file, with errors that name the file, the row and the remedy."""

from __future__ import annotations

import csv
import difflib
import io
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sgbt.core.documents import json_object
from sgbt.core.errors import DataError
from sgbt.core.unpacking import open_gzip

_Reader = Callable[[str, str, Sequence[str] | None], "Table"]
"""The name of the source for errors, its text, and the names of columns where the text has none."""

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

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """The place of a row, for a person."""
        return f"line {self.lines[row]} of {self.source}"

    def column(self, name: str) -> list[Any]:
        """The column of that name, or an error that suggests the nearest."""
        if name in self.columns:
            return self.columns[name]
        candidates = [column for column in islice(self.columns, 1000) if len(column) <= SHOWN_LETTERS]
        near = difflib.get_close_matches(name[:SHOWN_LETTERS], candidates, n=1)
        raise DataError(
            expected=f"a column named {shown([name])}",
            got=f"the columns {shown(self.columns)}",
            where=self.source,
            remedy=f"did you mean {near[0]!r}?" if near else "name the columns with --text and --label",
        )


def shown(names: Collection[str], *, form: Callable[[str], str] = repr) -> str:
    """Names in a row for a sentence: the first few, each cut where it is long, and how many there are in all."""
    cut = (
        name if len(name) <= SHOWN_LETTERS else name[:SHOWN_LETTERS] + "..." for name in islice(names, SHOWN_COLUMNS)
    )
    rest = f", ... ({len(names):,} in all)" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(map(form, cut)) + rest


def read_table(path: Path, *, encoding: str = "utf-8-sig", names: Sequence[str] | None = None) -> Table:
    """The rows of a CSV, TSV, JSONL or Parquet file, gzipped or not; `names` for a CSV file without a header."""
    refuse_file_that_is_not_one(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix == ".parquet":
        return _read_parquet(path)
    reader = _TEXT_READERS.get(suffix)
    if reader is None:
        raise DataError(
            expected="a file ending in .csv, .tsv, .jsonl or .parquet (or one of them with .gz)",
            got=repr(path.name),
            where=str(path.parent),
            remedy="convert it, or give the file its proper ending",
        )
    return _with_rows(reader, _decoded(path, encoding), str(path), names)


def read_csv(text: str, *, source: str) -> Table:
    """The rows of a CSV file that is at hand as text; `source` is what errors call it."""
    return _with_rows(_read_csv, text, source, None)


def _with_rows(reader: _Reader, text: str, source: str, names: Sequence[str] | None) -> Table:
    if not text.strip():
        raise DataError(expected="rows of data", got="an empty file", where=source)
    table = reader(source, text, names)
    if not len(table):
        raise DataError(expected="rows of data", got="a header and nothing below it", where=source)
    return table


def refuse_file_that_is_not_one(path: Path) -> None:
    """Refuse a path where there is no file to read."""
    try:
        if path.is_file():
            return
        got = "a folder" if path.is_dir() else "nothing"
    except OSError as problem:
        got = (problem.strerror or str(problem)).lower()
    raise DataError(expected="a data file", got=got, where=str(path), remedy="check the path")


def _content(path: Path) -> bytes:
    try:
        if path.suffix.lower() == ".gz":
            with open_gzip(path, kind=DataError) as stream:
                return stream.read()
        return path.read_bytes()
    except OSError as problem:
        raise DataError(
            expected="a readable file", got=(problem.strerror or str(problem)).lower(), where=str(path)
        ) from problem


def _decoded(path: Path, encoding: str) -> str:
    content = _content(path)
    try:
        text = content.decode(encoding)
        text.encode()  # some encodings can write half of a surrogate pair, which is no text
        return text
    except UnicodeDecodeError as problem:
        seen = problem.object  # without the byte order mark, as `start` counts
        line = seen.count(b"\n", 0, problem.start) + 1
        raise wrong_encoding(encoding, seen[problem.start], f"line {line} of {path}") from problem
    except LookupError as problem:
        raise DataError(
            expected="the name of an encoding", got=repr(encoding), remedy="try utf-8 or latin-1"
        ) from problem
    except UnicodeError as problem:
        raise DataError(
            expected=f"text in {encoding}", got=str(problem), where=str(path), remedy="name another encoding"
        ) from problem


def wrong_encoding(encoding: str, byte: int, where: str) -> DataError:
    """The error of a byte that the encoding does not have."""
    return DataError(
        expected=f"text in {encoding.removesuffix('-sig')}",
        got=f"the byte 0x{byte:02x}",
        where=where,
        remedy="convert the file with iconv, or name its encoding (latin-1, cp1252, ...)",
    )


def _read_csv(source: str, text: str, names: Sequence[str] | None, delimiter: str = ",") -> Table:
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[int] = []
    rows: list[list[str]] = []
    start = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as problem:
        raise DataError(
            expected="a well-formed table",
            got=str(problem),
            where=f"line {start} of {source}",  # where the row begins that never ends
            remedy="check the quotes there",
        ) from problem
    header = list(names) if names else rows.pop(0)
    if not names:
        refuse_namesakes(header, f"line {lines.pop(0)} of {source}")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise DataError(
                expected=f"{len(header):,} fields ({shown(header, form=str)})",
                got=str(len(row)),
                where=f"line {line} of {source}",
                remedy="put quotes around a text that contains the separator",
            )
    columns = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    return Table(source, columns, lines)


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
                remedy="rename one",
            )
        seen.add(name)


def _read_tsv(source: str, text: str, names: Sequence[str] | None) -> Table:
    return _read_csv(source, text, names, delimiter="\t")


def _read_jsonl(source: str, text: str, names: Sequence[str] | None) -> Table:
    rows, lines = [], []
    for number, line in _numbered_lines(text):
        where = f"line {number} of {source}"
        row = json_object(line, kind=DataError, where=where, expected="one JSON object per line")
        rows.append(row)
        lines.append(number)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return Table(source, {key: [row.get(key) for row in rows] for key in keys}, lines)


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as problem:
        raise DataError(
            expected="pyarrow, which reads Parquet",
            got="an environment without it",
            where=str(path),
            remedy="pip install 'sgbt[parquet]'",
        ) from problem
    source = pyarrow.BufferReader(_content(path)) if path.suffix.lower() == ".gz" else path
    try:
        columns = pyarrow.parquet.read_table(source).to_pydict()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
        reason = str(problem).splitlines()[0].rpartition("': ")[2]  # the path in front is named once, below
        raise DataError(
            expected="a whole Parquet file", got=f"one that cannot be read ({reason})", where=str(path)
        ) from problem
    rows = len(next(iter(columns.values()), []))
    if not rows:
        raise DataError(expected="rows of data", got="an empty file", where=str(path))
    return Table(str(path), columns, range(1, rows + 1))


_TEXT_READERS: dict[str, _Reader] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
}
