"""Files of rows: one JSON line each, appended, so that a killed run loses nothing and repeats nothing.

Certificates, results of attacks, records of benchmarks and trials are such rows; a `RowKind` says what is special to
each. A last line that a kill cut off is left out by readers and removed by the next writer; any other fault is refused
with the number of its line, and the file is left as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Generic, TypeVar

from sgbt.core.documents import json_object, read_bounded
from sgbt.core.errors import SgbtError
from sgbt.core.files import atomic_write, disk_errors, make_folder, writing_errors
from sgbt.core.locks import hold
from sgbt.core.outputs import is_regular, open_to_append, to_disk

Row = TypeVar("Row")
REMEDY = "choose another --out, or delete the file"


@dataclass(frozen=True, kw_only=True)
class RowKind(Generic[Row]):
    """How rows of one kind are written, read and identified.

    `name` is what one line holds. `read` makes a row of the fields of a line. No two rows of a file have the same
    `key`, and `title` says what a row is about. `begin` is how every line begins: only what begins so can be a line
    that was cut off. Without it a file is written as a whole, and half a line is a fault. `value` is a field of a row,
    and `earlier` says of a row of an earlier version why its model cannot be compared.
    """

    name: str
    error: type[SgbtError]
    write: Callable[[Row], str]
    read: Callable[[dict[str, Any]], Row]
    key: Callable[[Row], Hashable]
    title: Callable[[Row], str]
    begin: bytes | None = None
    value: Callable[[Row, str], object] = getattr
    earlier: Callable[[Row], str] = lambda row: ""
    finite: bool = False
    surrogates: bool = False

    def lines(self, rows: Iterable[Row]) -> bytes:
        """The lines of some rows."""
        errors = "surrogatepass" if self.surrogates else "strict"
        return "".join(self.write(row) + "\n" for row in rows).encode("utf-8", errors)

    def parsed(self, content: bytes, where: str) -> dict[Hashable, Row]:
        """The rows of a file's content by their keys, in the order of the lines."""
        rows: dict[Hashable, Row] = {}
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
            place, expected = f"{where}, line {number}", f"one {self.name} per line"
            fields = json_object(
                line, kind=self.error, where=place, expected=expected, finite=self.finite, pairs=not self.surrogates
            )
            try:
                row = self.read(fields)
                key = self.key(row)
                known = key in rows
            except (SgbtError, LookupError, TypeError, ValueError, AttributeError) as problem:
                fault = str(problem) if isinstance(problem, SgbtError) else f"one with a fault at {problem}"
                raise self.error(expected=expected, got=fault, where=place) from problem
            if known:
                raise self.second(row, place)
            rows[key] = row
        return rows

    def second(self, row: Row, where: str) -> SgbtError:
        """The refusal of a row whose key another row has."""
        return self.error(expected="each row once", got=f"a second for {self.title(row)}", where=where, remedy=REMEDY)


def read_rows(path: str | Path, kind: RowKind[Row]) -> list[Row]:
    """The rows of a file in the order of its lines, without a last line that a kill cut off."""
    content = read_bounded(Path(path), kind=kind.error, expected=f"a file with one {kind.name} per line")
    return list(kind.parsed(content[: whole_lines(content, kind.begin)], str(path)).values())


def write_rows(path: Path, kind: RowKind[Row], rows: Iterable[Row]) -> None:
    """A file of these rows in place of what was there; all or nothing."""
    with atomic_write(path) as stream:
        stream.write(kind.lines(rows))


class RowFile(Generic[Row]):
    """A file of rows that one process at a time extends; use it as a context manager.

    Opening it removes a last line that a kill cut off, reads the `rows` there are, and keeps other writers out. A pipe
    or a device takes rows as they come; without a path nothing is kept. The system has a row when `append` returns, so
    a kill loses none; the disk has it at most `sync_seconds` later, or with the next row after that.
    """

    def __init__(self, path: str | Path | None, kind: RowKind[Row], *, sync_seconds: float = 0.0) -> None:
        self.rows: dict[Hashable, Row] = {}
        self._path = None if path is None else Path(path)
        self._kind = kind
        self._stream: BinaryIO | None = None
        self._sync_seconds, self._synced = sync_seconds, time.monotonic()

    def __enter__(self) -> RowFile[Row]:
        if self._path is None:
            return self
        make_folder(self._path.parent)
        with writing_errors(self._path):
            stream = open_to_append(self._path)
        try:
            if is_regular(stream):  # else nothing is known of what went there before
                hold(stream, self._path, expected="a file that no other process is writing", kind=self._kind.error)
                stream.seek(0)
                content = stream.read()
                whole = whole_lines(content, self._kind.begin)
                self.rows = self._kind.parsed(content[:whole], str(self._path))
                stream.truncate(whole)
        except BaseException:
            stream.close()
            raise
        self._stream = stream
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is None or self._path is None:
            return
        stream, self._stream = self._stream, None
        with disk_errors(self._path):  # what could not be written is tried again
            try:
                to_disk(stream)
            finally:
                stream.close()

    def append(self, *rows: Row) -> None:
        """Add rows whose keys no row has yet."""
        if self._path is None:
            return
        assert self._stream is not None, "the file is not open"
        fresh: dict[Hashable, Row] = {}
        for row in rows:
            if (key := self._kind.key(row)) in self.rows or key in fresh:
                raise self._kind.second(row, str(self._path))
            fresh[key] = row
        with disk_errors(self._path):
            self._stream.write(self._kind.lines(rows))
            self._stream.flush()
            if time.monotonic() - self._synced >= self._sync_seconds:
                to_disk(self._stream)
                self._synced = time.monotonic()
        self.rows |= fresh

    def require(self, identity: Mapping[str, object], *, among: Callable[[Row], bool] = lambda row: True) -> None:
        """That the rows so far (or those `among` them) have these values: they answer the question now asked."""
        for row in filter(among, self.rows.values()):
            for name, expected in identity.items():
                if (found := self._kind.value(row, name)) != expected:
                    earlier = self._kind.earlier(row) if name == "model_hash" else ""
                    raise self._kind.error(
                        expected=f"rows with {name.replace('_', ' ')} {_short(expected)}",
                        got=f"{self._kind.title(row)} with {earlier or _short(found)}",
                        where=str(self._path),
                        remedy=REMEDY,
                    )

    def require_texts(self, same: Callable[[Row], bool]) -> None:
        """That every row so far is about the text and label now given."""
        for row in self.rows.values():
            if not same(row):
                raise self._kind.error(
                    expected="rows about the texts given",
                    got=f"another text or label for {self._kind.title(row)}",
                    where=str(self._path),
                    remedy=REMEDY,
                )


def whole_lines(content: bytes, begin: bytes | None) -> int:
    """How many bytes of a file of rows are whole lines; what follows is a row that a kill cut off.

    Only what begins as rows `begin` is taken for that. Anything else is somebody's own last line, and counts as a
    line, so that whoever parses it refuses the file instead of cutting it.
    """
    whole = content.rfind(b"\n") + 1
    rest = content[whole:]
    cut_off = begin is not None and (rest.startswith(begin) or begin.startswith(rest))
    return whole if cut_off else len(content)


def _short(value: object) -> str:
    return value[:12] if isinstance(value, str) else str(value)
