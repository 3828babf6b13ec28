"""Shards: files, and parts of files, that are read apart from each other.

A file of JSON lines or of texts is cut by bytes: a line belongs to the shard that it begins in. A Parquet file is cut
between its row groups. A CSV file is one shard, for a line's end within quotes is part of a text, and so is what is
packed by gzip. The rows of all shards, one after the other, are those of the files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sgbt.core.errors import DataError
from sgbt.data.file_text import LONGEST_LINE, beginning_of, refuse_file_that_is_not_one, wrong_encoding
from sgbt.data.table_files import ENDINGS, ROWS, FileLayout, chunks, format_of, parquet_file, rows_of
from sgbt.data.tables import Table

BYTES = 32 << 20
"""Of JSON lines, or of a Parquet file's row groups, in one shard."""
CUT_BY_BYTES = ("utf-8", "utf-8-sig", "cp1252", "latin-1")
"""Encodings in which the byte of a line's end is nothing else."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file, or its bytes or row groups from `first` to before `last`."""

    path: str
    form: str
    first: int = 0
    last: int | None = None
    encoding: str = ""

    def tables(self, layout: FileLayout, *, rows: int = ROWS) -> Iterator[Table]:
        """Its rows, a few at a time."""
        path = Path(self.path)
        if self.last is None:
            return chunks(path, self.form, layout, rows=rows)
        if self.form == "parquet":
            return chunks(path, self.form, layout, rows=rows, groups=range(self.first, self.last))
        name = f"{path} from byte {self.first:,}" if self.first else str(path)
        lines = io.StringIO(self._content(path, name), newline="")
        return rows_of(self.form, lines, name, layout, rows)

    def _content(self, path: Path, name: str) -> str:
        assert self.last is not None
        with path.open("rb") as stream:
            stream.seek(max(self.first - 1, 0))
            if self.first:
                stream.readline(LONGEST_LINE)  # the rest of a line that began before
            start = stream.tell()
            found = stream.read(max(self.last - start, 0))
            if found and not found.endswith(b"\n"):
                found += stream.readline(LONGEST_LINE)
        try:
            return found.decode("utf-8-sig" if self.encoding == "utf-8" and not self.first else self.encoding)
        except UnicodeDecodeError as problem:
            raise wrong_encoding(self.encoding, problem.object[problem.start], name) from problem


def shards_of(source: Path, layout: FileLayout, form: str | None = None, *, size: int = BYTES) -> list[Shard]:
    """The shards of a file, or of all data files of a folder in the order of their names."""
    if not source.is_dir():
        refuse_file_that_is_not_one(source)
        return _of_file(source, form or format_of(source), layout, size)
    kinds = (*ENDINGS, *(f"{ending}.gz" for ending in ENDINGS))
    files = sorted(path for path in source.iterdir() if path.name.lower().endswith(kinds) and path.is_file())
    if not files:
        raise DataError(
            expected="files ending in .parquet, .jsonl, .csv, .tsv or .txt", got="a folder with none", where=str(source)
        )
    forms = {form or format_of(path) for path in files}
    if len(forms) > 1:
        got = " and ".join(sorted(forms))
        raise DataError(
            expected="files of one format", got=got, where=str(source), remedy="put each format into a folder"
        )
    (only,) = forms
    return [shard for path in files for shard in _of_file(path, only, layout, size)]


def _of_file(path: Path, form: str, layout: FileLayout, size: int) -> list[Shard]:
    name = str(path.resolve())
    if path.suffix.lower() == ".gz" or form in ("csv", "tsv"):
        return [Shard(name, form)]
    if form == "parquet":
        return _row_groups(path, name, size)
    encoding = beginning_of(path, layout.encoding)
    if encoding not in CUT_BY_BYTES:
        return [Shard(name, form)]
    whole = path.stat().st_size
    cuts = [*range(0, whole, size), whole]
    return [Shard(name, form, *pair, encoding) for pair in pairwise(cuts)]


def _row_groups(path: Path, name: str, size: int) -> list[Shard]:
    with parquet_file(path) as file:
        groups = [file.metadata.row_group(place).total_byte_size for place in range(file.num_row_groups)]
    cuts, held = [0], 0
    for place, own in enumerate(groups):
        if held and held + own > size:
            cuts, held = [*cuts, place], 0
        held += own
    return [Shard(name, "parquet", *pair) for pair in zip(cuts, [*cuts[1:], len(groups)], strict=True)]
