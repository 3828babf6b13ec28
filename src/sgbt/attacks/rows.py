"""Rows on disk: one JSON line per text and method, appended as they come, never doubled, never half-read."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from sgbt.attacks.result import AttackResult, Swap
from sgbt.attacks.settings import Settings
from sgbt.documents import json_object
from sgbt.errors import AttackError
from sgbt.fields import refuse_odd_fields
from sgbt.files import disk_errors, make_folder, whole_lines, writing_errors
from sgbt.outputs import is_regular, open_to_append, to_disk

BEGIN = b'{"settings": "'
"""How every row begins."""


class Rows:
    """A file of results that one process at a time extends.

    Each row carries `settings`, a hash of everything that determines its result except the text. Rows of other
    settings in the same file are an error, not a mixture. A line that a killed process left unfinished is cut off. Use
    it as a context manager.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[tuple[str, str, int], AttackResult] = {}
        self._first: dict[tuple[str, str, str, str], AttackResult] = {}

    def __enter__(self) -> Rows:
        if self._path is not None:
            make_folder(self._path.parent)
            with writing_errors(self._path):
                self._stream = open_to_append(self._path)
            if not is_regular(self._stream):  # a pipe or a device: nothing is known of what went there before
                return self
            try:
                fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                raise AttackError(
                    wanted="a file that no other process is writing",
                    got="one in use",
                    where=str(self._path),
                    remedy="wait for it, or choose another --out",
                ) from problem
            self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            with disk_errors(self._path):  # what could not be written is tried again
                self._stream.close()

    def check(self, settings: Settings) -> None:
        """That the rows of this method, if there are any, are of these settings."""
        wanted = settings.method, settings.hash, settings.model_hash, settings.table_hash
        for found, row in self._first.items():
            if found[0] == settings.method and found != wanted:
                raise settings.refusal(row, str(self._path))

    def find(self, settings: Settings, index: int, text: str) -> AttackResult | None:
        """The result that the file has already, if any."""
        known = self._known.get((settings.hash, settings.method, index))
        return known if known is not None and known.original == text else None

    def add(self, settings: Settings, result: AttackResult) -> None:
        """Append one result; it is on disk when this returns."""
        if self._path is None:
            return
        line = json.dumps({"settings": settings.hash, **result.to_row()}, ensure_ascii=False)
        with disk_errors(self._path):
            self._stream.write(line.encode("utf-8", "surrogatepass") + b"\n")
            to_disk(self._stream)

    def _read(self) -> None:
        self._stream.seek(0)
        content = self._stream.read()
        whole = whole_lines(content, begin=BEGIN)
        for row in _parsed(content[:whole], str(self._path)):
            result = AttackResult.from_row(row)
            self._known.setdefault((row["settings"], result.method, result.index), result)
            self._first.setdefault((result.method, row["settings"], result.model_hash, result.table_hash), result)
        self._stream.truncate(whole)


def read_rows(path: str | Path) -> list[AttackResult]:
    """All results of a file, in the order in which they were made; an unfinished last line is left out."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise AttackError(wanted="a file of attack rows", got=reason, where=str(path)) from problem
    return [AttackResult.from_row(row) for row in _parsed(content[: whole_lines(content, begin=BEGIN)], str(path))]


def _parsed(content: bytes, where: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
        try:
            row = json_object(line, kind=AttackError, where="", finite=False, pairs=False)
            refuse_odd_fields(AttackResult, row, kind=AttackError, where="")
            for swap in row["swaps"]:
                refuse_odd_fields(Swap, swap, kind=AttackError, where="")
            AttackResult.from_row(row)
            hash(row["settings"])
        except (AttackError, KeyError, TypeError) as problem:
            raise AttackError(
                wanted="one attack result per line",
                got=f"something else ({problem.got})" if isinstance(problem, AttackError) else "something else",
                where=f"{where}, line {number}",
                remedy="choose another --out",
            ) from problem
        yield row
