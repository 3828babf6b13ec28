"""Rows written as they come, in the format that the file's name says."""

from __future__ import annotations

import codecs
import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from sgbt.core.errors import DataError
from sgbt.core.files import atomic_write
from sgbt.data.table_files import format_of, pyarrow_for

Columns = dict[str, list[Any]]
Write = Callable[[Columns], None]
WRITTEN = ("csv", "tsv", "jsonl", "parquet")
AS_TEXT = WRITTEN[:-1]


@contextmanager
def writing(out: Path | None, *, otherwise: str) -> Iterator[Write]:
    """A function that writes columns of equal length, chunk after chunk, to a file that is whole or not there.

    Without a file, to standard output in the format `otherwise`.
    """
    if out is None:
        yield _writer(sys.stdout, otherwise if otherwise in AS_TEXT else "csv", "standard output")
        sys.stdout.flush()
        return
    form = format_of(out)
    if form not in WRITTEN or out.suffix.lower() == ".gz":
        raise DataError(
            expected="a file ending in .csv, .tsv, .jsonl or .parquet to write", got=repr(out.name), where="--out"
        )
    with atomic_write(out) as stream:
        if form == "parquet":
            with _parquet(stream, str(out)) as write:
                yield write
            return
        yield _writer(codecs.getwriter("utf-8")(stream), form, str(out))


def _writer(stream: TextIO | codecs.StreamWriter, form: str, name: str) -> Write:
    if form == "jsonl":
        return lambda columns: stream.writelines(
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str) + "\n"
            for row in zip(*columns.values(), strict=True)
        )
    rows = csv.writer(stream, delimiter="," if form == "csv" else "\t", lineterminator="\n")
    header: list[str] = []

    def write(columns: Columns) -> None:
        if not header:
            header.extend(columns)
            rows.writerow(header)
        if odd := [key for key in columns if key not in header]:
            raise DataError(
                expected="the same columns in every row",
                got=f"{odd[0]!r}, which the first rows do not have",
                where=name,
                remedy="write a .jsonl file, whose rows may differ",
            )
        size = len(next(iter(columns.values())))
        cells = [columns.get(key, [None] * size) for key in header]
        rows.writerows([_cell(value) for value in row] for row in zip(*cells, strict=True))

    return write


@contextmanager
def _parquet(stream: BinaryIO, name: str) -> Iterator[Write]:
    """Columns are of the kinds that the first rows show; one that is empty there is taken to be text."""
    pyarrow, parquet = pyarrow_for(name)
    file: Any = None

    def write(columns: Columns) -> None:
        nonlocal file
        try:
            rows = pyarrow.table(columns, schema=file and file.schema)
            if file is None:
                text = [
                    field.with_type(pyarrow.string()) if field.type == pyarrow.null() else field
                    for field in rows.schema
                ]
                rows = rows.cast(pyarrow.schema(text))
                file = parquet.ParquetWriter(stream, rows.schema)
            file.write_table(rows)
        except (pyarrow.ArrowException, KeyError) as problem:
            raise DataError(
                expected="columns of one kind, the same in every row",
                got=str(problem).splitlines()[0],
                where=name,
                remedy="write a .jsonl file, whose rows may differ",
            ) from problem

    try:
        yield write
    finally:
        if file is not None:
            file.close()


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else value
