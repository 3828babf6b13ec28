"""The lines of a text file as people have them: packed or not, in whatever encoding it was saved."""

from __future__ import annotations

import codecs
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from sgbt.core.errors import DataError, SgbtWarning
from sgbt.core.unpacking import open_gzip

AUTO = "auto"
"""The encoding, or the separator, that the file itself shows."""
LONGEST_LINE = 1 << 26
"""Letters of one line; without a bound, a file without line ends is read as one."""
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as the mark of UTF-16 does, so it is tried before
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How a spreadsheet's file begins: .xlsx and .ods are zip archives, .xls is older."""
CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))
"""Bytes that no text in a one-byte encoding has: a file with one of them is a picture, a program or the like."""
REMEDY = "convert the file with iconv, or name its encoding with --encoding (latin-1, cp1252, ...)"


@contextmanager
def lines_of(source: Path | TextIO, encoding: str) -> Iterator[Iterator[str]]:
    """The lines of a file or a stream, with their ends."""
    if isinstance(source, Path):
        found = encoding_of(source, encoding)
        with opened(source) as binary, io.TextIOWrapper(binary, encoding=found, newline="") as stream:
            yield _lines(stream, str(source), found)
        return
    name, piped = "standard input", getattr(source, "buffer", None)
    found = "utf-8-sig" if encoding in (AUTO, "utf-8") else encoding
    if piped is None:
        yield _lines(source, name, found)
        return
    if encoding == AUTO:  # what comes by a pipe is decoded here, not by the system's settings
        found = _by_head(piped.peek(4096), name)
    decoded = io.TextIOWrapper(piped, encoding=_known(found), newline="")
    yield _lines(decoded, name, found)
    decoded.detach()


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked."""
    refuse_file_that_is_not_one(path)
    try:
        if path.suffix.lower() != ".gz":
            with path.open("rb") as stream:
                yield stream
        else:
            with open_gzip(path, kind=DataError) as unpacked:
                yield unpacked
    except OSError as problem:
        got = (problem.strerror or str(problem)).lower()
        raise DataError(expected="a readable file", got=got, where=str(path)) from problem


def refuse_file_that_is_not_one(path: Path) -> None:
    """Refuse a path where there is no file to read."""
    try:
        if path.is_file():
            return
        got = "a folder" if path.is_dir() else "nothing"
    except OSError as problem:
        got = (problem.strerror or str(problem)).lower()
    raise DataError(expected="a data file", got=got, where=str(path), remedy="check the path")


def encoding_of(path: Path, asked: str = AUTO) -> str:
    """The encoding of a file: the one asked for, or else the one that it begins with or that fits all of it.

    UTF-8 is seldom fitted by a file in another encoding, so a file that fits is in it. One that does not is Windows's
    cp1252, or Latin-1 where that has no such letter: a note says so, for nothing proves it.
    """
    if asked != AUTO:
        name = _known("utf-8-sig" if asked == "utf-8" else asked)
        if (fault := _fault(path, name)) is not None:
            raise fault
        return name
    with opened(path) as stream:
        head = stream.read(4096)
    if head.startswith(SPREADSHEETS):
        raise spreadsheet(path)
    name = _marked(head)
    if (fault := _fault(path, name)) is None:
        return name
    if name != "utf-8" or any(byte in CONTROLS for byte in head):
        raise fault
    name = "cp1252" if _fault(path, "cp1252") is None else "latin-1"
    _note(str(path), name, fault.got)
    return name


def beginning_of(path: Path, asked: str = AUTO) -> str:
    """The encoding of a file that is too large to be looked through: the one asked for, or what its beginning shows."""
    with opened(path) as stream:
        return _by_head(stream.read(1 << 16), str(path)) if asked == AUTO else _known(asked)


def spreadsheet(path: Path) -> DataError:
    """The error of a file that a spreadsheet program wrote in its own format."""
    return DataError(
        expected="a CSV, TSV, JSONL or Parquet file",
        got="a spreadsheet or an archive",
        where=str(path),
        remedy="open it in a spreadsheet program, save the sheet as CSV (UTF-8), and name that file",
    )


def _marked(head: bytes) -> str:
    """The encoding whose mark a file begins with; without one, zeros beside letters are UTF-16."""
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) / 4:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def _by_head(head: bytes, where: str) -> str:
    """The encoding that the beginning of a stream shows, which cannot be read twice."""
    if head.startswith(SPREADSHEETS):
        raise spreadsheet(Path(where))
    name = _marked(head)
    if name == "utf-8":
        try:
            codecs.getincrementaldecoder(name)().decode(head)
        except UnicodeDecodeError as problem:
            name = "cp1252"
            _note(where, name, f"the byte 0x{head[problem.start]:02x}")
    return name


def _note(where: str, name: str, got: str) -> None:
    sentence = f"{where} is not in UTF-8 ({got}); it is read as {name}, and --encoding names another."
    warnings.warn(sentence, SgbtWarning, stacklevel=3)


def _known(encoding: str) -> str:
    """The name of an encoding of texts, which some are not."""
    try:
        b"a".decode(encoding)
        codecs.getincrementaldecoder(encoding)
    except UnicodeDecodeError:  # it is one, and needs more than a byte
        pass
    except (LookupError, ValueError) as problem:  # a name that is no text is a ValueError too
        raise DataError(
            expected="the name of an encoding", got=repr(encoding), remedy="try --encoding utf-8 or latin-1"
        ) from problem
    return encoding


def _fault(path: Path, encoding: str) -> DataError | None:
    """Where a file is not in an encoding, as the error that says so."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with opened(path) as stream:
        block = b"a"
        while block:
            block = stream.read(1 << 20)
            try:
                decoder.decode(block, final=not block).encode()  # half of a surrogate pair is no text
            except UnicodeDecodeError as problem:
                line += problem.object.count(b"\n", 0, problem.start)
                return wrong_encoding(encoding, problem.object[problem.start], f"line {line} of {path}")
            except UnicodeError as problem:
                return DataError(
                    expected=f"text in {encoding}", got=str(problem), where=str(path), remedy="name another encoding"
                )
            line += block.count(b"\n")
    return None


def wrong_encoding(encoding: str, byte: int, where: str) -> DataError:
    """The error of a byte that the encoding does not have."""
    name = encoding.removesuffix("-sig")
    return DataError(expected=f"text in {name}", got=f"the byte 0x{byte:02x}", where=where, remedy=REMEDY)


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
            yield line
    except UnicodeDecodeError as problem:
        raise wrong_encoding(encoding, problem.object[problem.start], f"{name}, behind line {number}") from problem
