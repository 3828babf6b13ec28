"""Certificates on disk: one JSON line each, appended, so that a killed run loses nothing and repeats nothing."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from sgbt.certify.certificate import Certificate
from sgbt.documents import json_object
from sgbt.errors import CertificateError
from sgbt.fields import refuse_odd_fields
from sgbt.files import disk_errors, make_folder, whole_lines, writing_errors
from sgbt.models import covers_weights_alone
from sgbt.outputs import is_regular, open_to_append, to_disk

BEGIN = b'{"index": '
"""How every row begins."""

SYNC_SECONDS = 1.0


def read_rows(path: str | Path) -> list[Certificate]:
    """The certificates of a file, by index. A last line without its end was cut off by a kill and does not count."""
    path = Path(path)
    if not path.is_file():
        raise CertificateError(wanted="a file of certificates", got="nothing there", where=str(path))
    return _parsed(path.read_bytes(), path)


class RowFile:
    """A file of certificates that grows; use it as a context manager.

    Opening it removes a last line that a kill cut off, and holds the file so that no other process appends meanwhile;
    a pipe or a device takes rows as they come.
    Rows are the system's before `append` returns, so a kill loses none; they reach the disk within about a second,
    so a power cut loses at most what is soon decided again.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.rows: dict[int, Certificate] = {}
        self._stream: BinaryIO | None = None
        self._synced = time.monotonic()

    def __enter__(self) -> RowFile:
        make_folder(self.path.parent)
        with writing_errors(self.path):
            stream = open_to_append(self.path)
        if not is_regular(stream):  # a pipe or a device: nothing is known of what went there before
            self._stream = stream
            return self
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stream.seek(0)
            content = stream.read()
            whole = content[: whole_lines(content, begin=BEGIN)]
            self.rows = {row.index: row for row in _parsed(whole, self.path)}
            stream.truncate(len(whole))
        except BlockingIOError as problem:
            stream.close()
            raise CertificateError(
                wanted="a file that nobody else writes to", got="one in use", where=str(self.path), remedy="wait for it"
            ) from problem
        except BaseException:
            stream.close()
            raise
        self._stream = stream
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            with disk_errors(self.path):  # what could not be written is tried again
                try:
                    to_disk(stream)
                finally:
                    stream.close()

    def append(self, certificates: Iterable[Certificate]) -> None:
        """Add certificates of texts that have none yet."""
        assert self._stream is not None
        fresh = list(certificates)
        for row in fresh:
            if row.index in self.rows:
                raise CertificateError(wanted="one row for each text", got=f"a second for text {row.index}")
        lines = "".join(json.dumps(row.to_row(), ensure_ascii=False, allow_nan=False) + "\n" for row in fresh)
        with disk_errors(self.path):
            self._stream.write(lines.encode())
            self._stream.flush()
            if time.monotonic() - self._synced > SYNC_SECONDS:
                to_disk(self._stream)
                self._synced = time.monotonic()
        self.rows |= {row.index: row for row in fresh}

    def check(self, **wanted: object) -> None:
        """That every row so far answers the question now asked: same model, table, tiers and budget."""
        for row in self.rows.values():
            for name, value in wanted.items():
                if getattr(row, name) != value:
                    if name == "model_hash" and covers_weights_alone(row.model_hash):
                        raise self._of_weights_alone(row)
                    raise CertificateError(
                        wanted=f"rows with {name.replace('_', ' ')} {_short(value)}",
                        got=f"text {row.index} with {_short(getattr(row, name))}",
                        where=str(self.path),
                        remedy="choose another --out, or delete the file",
                    )

    def _of_weights_alone(self, row: Certificate) -> CertificateError:
        return CertificateError(
            wanted="rows with the identity of the model",
            got=f"text {row.index} with a hash that covers weights alone, as earlier versions wrote them",
            where=str(self.path),
            remedy="certify into another --out; these rows can still be read",
        )

    def check_texts(self, hashes: Sequence[str], labels: Sequence[int]) -> None:
        """That every row so far is about the text and label now at its index."""
        for index, row in self.rows.items():
            if index >= len(hashes):
                continue
            if row.text_hash != hashes[index] or row.label != labels[index]:
                raise CertificateError(
                    wanted="rows about the texts given",
                    got=f"another text or label at {index}",
                    where=str(self.path),
                    remedy="choose another --out, or delete the file",
                )


def _parsed(content: bytes, path: Path) -> list[Certificate]:
    rows: dict[int, Certificate] = {}
    for number, line in enumerate(content[: whole_lines(content, begin=BEGIN)].splitlines(), start=1):
        try:
            fields = json_object(line, kind=CertificateError, where="", finite=False)
            refuse_odd_fields(Certificate, fields, kind=CertificateError, where="")
            row = Certificate.from_row(fields)
        except CertificateError as problem:
            raise CertificateError(
                wanted="one certificate per line", got=str(problem), where=f"{path}, line {number}"
            ) from problem
        if row.index in rows:
            raise CertificateError(
                wanted="one row for each text", got=f"two for text {row.index}", where=f"{path}, line {number}"
            )
        rows[row.index] = row
    return sorted(rows.values(), key=lambda row: row.index)


def _short(value: object) -> str:
    return value[:12] if isinstance(value, str) else str(value)
