"""Gzipped files from elsewhere: a few kilobytes can unpack to terabytes, so unpacking stops where no real file goes on.

Deflate packs a thousand to one at best, and texts and vectors two to one or twenty to one. What unpacks to more than
`FREE` bytes must not have made more than `RATIO` of each byte that was packed, and no more than `most` in all.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sgbt.core.errors import SgbtError

MAGIC = b"\x1f\x8b"
FREE = 64 << 20
RATIO = 200
MOST = 16 << 30
_BLOCK = 1 << 20


class Unpacked(io.RawIOBase):
    """The content of a gzipped stream, which ends with an error of the given kind where it is no real file's."""

    def __init__(self, packed: BinaryIO, *, kind: type[SgbtError], where: str, most: int = MOST) -> None:
        self._packed, self._stream = packed, gzip.GzipFile(fileobj=packed)
        self._kind, self._where, self._most = kind, where, most
        self._size = 0

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        try:
            block = self._stream.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
            raise damaged(problem, kind=self._kind, where=self._where) from problem
        self._size += len(block)
        refuse_bomb(self._size, self._packed.tell(), kind=self._kind, where=self._where, most=self._most)
        buffer[: len(block)] = block
        return len(block)


@contextlib.contextmanager
def open_gzip(path: Path, *, kind: type[SgbtError], most: int = MOST) -> Iterator[io.BufferedReader]:
    """The content of a gzipped file as a stream."""
    with path.open("rb") as packed:
        yield io.BufferedReader(Unpacked(packed, kind=kind, where=str(path), most=most), _BLOCK)


def unpacked(content: bytes, *, kind: type[SgbtError], where: str, most: int = MOST) -> bytes:
    """The content of gzipped bytes."""
    return io.BufferedReader(Unpacked(io.BytesIO(content), kind=kind, where=where, most=most), _BLOCK).read()


def refuse_zip_bomb(member: zipfile.ZipInfo, *, kind: type[SgbtError], where: str) -> None:
    """The same of a member of a zip archive, which says itself how large it becomes, and ends there."""
    refuse_bomb(member.file_size, member.compress_size, kind=kind, where=where, most=MOST)


def refuse_bomb(size: int, packed: int, *, kind: type[SgbtError], where: str, most: int) -> None:
    """An error where more was unpacked than any real file has."""
    if size > most or (size > FREE and size > RATIO * packed):
        raise kind(
            expected=f"a packed file of real content (at most {RATIO} times its size, and {most:,} bytes)",
            got=f"{size:,} bytes from {packed:,}, and no end",
            where=where,
            remedy="unpack it yourself if you trust it",
        )


def damaged(problem: Exception, *, kind: type[SgbtError], where: str) -> SgbtError:
    """What to say of a gzip file that cannot be unpacked to its end."""
    return kind(
        expected="a whole gzip file",
        got=f"one that is cut short or damaged ({problem})",
        where=where,
        remedy="fetch it again",
    )
