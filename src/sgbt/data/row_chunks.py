"""Rows of a table file a few at a time, so that files of any size are read in bounded memory."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from sgbt.core.documents import json_object
from sgbt.core.errors import DataError
from sgbt.data.tables import Table, refuse_file_that_is_not_one, refuse_namesakes, shown, wrong_encoding

FORMATS = ("csv", "tsv", "jsonl", "text", "parquet")
"""`text` is one text in each line."""
ROWS = 2048
"""Rows at a time."""
LONGEST_LINE = 1 << 26
"""Letters of one line; without a bound, a file without line ends is read as one."""


def format_of(path: Path) -> str:
    """The format that a file's name says; a `.gz` behind it does not count."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    known = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl", ".txt": "text"}
    if not suffixes or suffixes[-1] not in known:
        raise DataError(
            expected="a file ending in .csv, .tsv, .jsonl, .txt or .parquet (or one of the first four with .gz)",
            got=repr(path.name),
            where=str(path.parent),
            remedy="name the format with --format",
        )
    return known[suffixes[-1]]


def chunks(source: Path | TextIO, form: str, *, encoding: str = "utf-8-sig", rows: int = ROWS) -> Iterator[Table]:
    """The rows of a file, or of a stream such as standard input, as tables of at most `rows` rows."""
    if isinstance(source, Path):
        refuse_file_that_is_not_one(source)
    name = str(source) if isinstance(source, Path) else "standard input"
    if form == "parquet":
        if not isinstance(source, Path):
            raise DataError(expected="a Parquet file", got="standard input", remedy="write it to a file first")
        found = _parquet(source, rows)
    else:
        found = _from_text(source, form, name, encoding, rows)
    empty = True
    for table in found:
        empty = False
        yield table
    if empty:
        raise DataError(expected="rows of data", got="none", where=name)


def _from_text(source: Path | TextIO, form: str, name: str, encoding: str, rows: int) -> Iterator[Table]:
    with _opened(source, encoding) as stream:
        yield from _READERS[form](_lines(stream, name, encoding), name, rows)


@contextmanager
def _opened(source: Path | TextIO, encoding: str) -> Iterator[TextIO]:
    if not isinstance(source, Path):
        yield source
        return
    try:
        packed = source.suffix.lower() == ".gz"
        binary = gzip.GzipFile(source) if packed else source.open("rb")
    except OSError as problem:
        raise DataError(
            expected="a readable file", got=(problem.strerror or str(problem)).lower(), where=str(source)
        ) from problem
    with binary:
        try:
            stream = io.TextIOWrapper(binary, encoding=encoding, newline="")
        except (LookupError, ValueError) as problem:
            raise DataError(
                expected="the name of an encoding", got=repr(encoding), remedy="try utf-8 or latin-1"
            ) from problem
        with stream:
            yield stream


def _lines(stream: TextIO, name: str, encoding: str) -> Iterator[str]:
    number = 0
    try:
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise DataError(
                    expected=f"lines of fewer than {LONGEST_LINE:,} letters",
                    got="more",
                    where=f"line {number} of {name}",
                )
            line.encode()  # some encodings can write half of a surrogate pair, which is no text
            yield line
    except UnicodeDecodeError as problem:
        raise wrong_encoding(encoding, problem.object[problem.start], f"{name}, behind line {number}") from problem
    except UnicodeError as problem:
        raise DataError(
            expected=f"text in {encoding}", got=str(problem), where=f"line {number} of {name}", remedy="name another"
        ) from problem
    except (EOFError, OSError, zlib.error) as problem:
        raise DataError(expected="a whole file", got=str(problem), where=f"{name}, behind line {number}") from problem


def _csv(lines: Iterator[str], name: str, rows: int, delimiter: str = ",") -> Iterator[Table]:
    csv.field_size_limit(sys.maxsize)
    found = _csv_rows(lines, name, delimiter)
    first = next(found, None)
    if first is None:
        return
    header = first[1]
    refuse_namesakes(header, f"line {first[0]} of {name}")
    while part := list(islice(found, rows)):
        for line, row in part:
            if len(row) != len(header):
                raise DataError(
                    expected=f"{len(header):,} fields ({shown(header, form=str)})",
                    got=str(len(row)),
                    where=f"line {line} of {name}",
                    remedy="put quotes around a text that contains the separator",
                )
        columns = {column: [row[place] for _, row in part] for place, column in enumerate(header)}
        yield Table(name, columns, [line for line, _ in part])


def _csv_rows(lines: Iterator[str], name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
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


def _tsv(lines: Iterator[str], name: str, rows: int) -> Iterator[Table]:
    return _csv(lines, name, rows, "\t")


def _jsonl(lines: Iterator[str], name: str, rows: int) -> Iterator[Table]:
    filled = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    while part := list(islice(filled, rows)):
        objects = [
            json_object(line, kind=DataError, where=f"line {number} of {name}", expected="one JSON object per line")
            for number, line in part
        ]
        keys = dict.fromkeys(key for row in objects for key in row)
        yield Table(name, {key: [row.get(key) for row in objects] for key in keys}, [number for number, _ in part])


def _text(lines: Iterator[str], name: str, rows: int) -> Iterator[Table]:
    filled = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, start=1) if line.strip())
    while part := list(islice(filled, rows)):
        yield Table(name, {"text": [line for _, line in part]}, [number for number, _ in part])


_READERS: dict[str, Callable[[Iterator[str], str, int], Iterator[Table]]] = {
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _jsonl,
    "text": _text,
}


def _parquet(path: Path, rows: int) -> Iterator[Table]:
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
    try:
        done = 0
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows):
                yield Table(str(path), batch.to_pydict(), range(done + 1, done + len(batch) + 1))
                done += len(batch)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise DataError(
            expected="a whole Parquet file",
            got=f"one that cannot be read ({str(problem).splitlines()[0]})",
            where=str(path),
        ) from problem
