"""What was parsed once: words.txt and vectors.npy in the user's cache folder, mapped into memory the next time.

Vectors go to disk block by block, so parsing a table of gigabytes needs memory for one block. The folder appears whole
or not at all; a cache that was damaged afterwards does not match its checksums and is made again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sgbt.core.documents import read_json
from sgbt.core.errors import EmbeddingError, SgbtError
from sgbt.core.files import atomic_folder
from sgbt.embeddings.block import Block
from sgbt.embeddings.table import EmbeddingTable

_ABOUT, _WORDS, _VECTORS = "about.json", "words.txt", "vectors.npy"


def cached(folder: Path, read: Callable[[], Iterator[Block]], *, name: str) -> EmbeddingTable:
    """The table kept in `folder`; when there is none, or a damaged one, parse with `read` and keep that."""
    table = _load(folder, name=name)
    if table is not None:
        return table
    try:
        with atomic_folder(folder) as fresh:
            _write(fresh, read())
    except EmbeddingError:
        raise
    except SgbtError:
        return in_memory(read(), name=name)
    table = _load(folder, name=name)
    return in_memory(read(), name=name) if table is None else table


def in_memory(blocks: Iterator[Block], *, name: str) -> EmbeddingTable:
    """A table that lives in memory only."""
    collected = list(blocks)
    words = tuple(word for block in collected for word in block.words)
    return EmbeddingTable(words, np.concatenate([block.vectors for block in collected]), name)


def _write(folder: Path, blocks: Iterator[Block]) -> None:
    words: list[str] = []
    width = 0
    with (folder / _VECTORS).open("wb") as stream:
        for block in blocks:
            if not width:
                width = block.vectors.shape[1]
                _write_header(stream, 0, width)
            stream.write(np.ascontiguousarray(block.vectors, dtype="<f4").tobytes())
            words.extend(block.words)
        stream.seek(0)
        _write_header(stream, len(words), width)
    (folder / _WORDS).write_bytes("\n".join(words).encode())
    about = {
        "words": len(words),
        "width": width,
        "checksums": {name: _checksum(folder / name) for name in (_WORDS, _VECTORS)},
    }
    (folder / _ABOUT).write_text(json.dumps(about))


def _write_header(stream: object, rows: int, width: int) -> None:
    """The .npy header; NumPy pads it so that it has the same length whatever the number of rows."""
    description = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(stream, description)  # type: ignore[arg-type]


def _load(folder: Path, *, name: str) -> EmbeddingTable | None:
    try:
        about = read_json(folder / _ABOUT, kind=EmbeddingError)
        if any(_checksum(folder / file) != about["checksums"][file] for file in (_WORDS, _VECTORS)):
            return None
        text = (folder / _WORDS).read_bytes().decode()
        vectors = np.load(folder / _VECTORS, mmap_mode="r" if about["words"] else None, allow_pickle=False)
        return EmbeddingTable(tuple(text.split("\n")) if text else (), vectors, name)
    except (OSError, ValueError, KeyError, TypeError, SgbtError):
        return None


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            value = zlib.crc32(chunk, value)
    return value
