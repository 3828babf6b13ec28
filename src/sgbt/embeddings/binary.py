"""word2vec's binary files, and arrays of NumPy beside a Parquet file of words, block by block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sgbt.core.errors import EmbeddingError


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a word2vec file promises."""

    words: int
    width: int

    def check_count(self, count: int, where: str) -> None:
        """Raise unless the file held as many vectors as its header promises."""
        if count != self.words:
            raise EmbeddingError(
                expected=f"{self.words} vectors, as the header says",
                got=str(count),
                where=where,
                remedy="the file is cut short or was edited: fetch it again",
            )


def header_of(line: bytes) -> Header | None:
    """The header that `line` spells (exactly two positive whole numbers), or None."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    words, width = int(fields[0]), int(fields[1])
    return Header(words, width) if width > 0 else None


BLOCK_BYTES = 1 << 22
"""How much of a file is read at a time."""

Keep = Callable[[str], bool]
"""Tells whether a word's vector is to be kept."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorBlock:
    """Words of a file in their order, and their vectors, float32 [words, width]."""

    words: list[str]
    vectors: NDArray[np.float32]


def keeps(words: Collection[str] | None) -> Keep:
    """Membership in `words`; every word is kept when there is no such set."""
    if words is None:
        return lambda _: True
    return frozenset(words).__contains__


def first_occurrences(blocks: Iterator[VectorBlock]) -> Iterator[VectorBlock]:
    """The same blocks without words that came before: the first vector of a word counts, as in the common tools."""
    seen: set[str] = set()
    for block in blocks:
        kept = []
        for row, word in enumerate(block.words):
            if word not in seen:
                seen.add(word)
                kept.append(row)
        if len(kept) == len(block.words):
            yield block
        else:
            yield VectorBlock([block.words[row] for row in kept], block.vectors[kept])


def check_finite(block: VectorBlock, where: Callable[[int], str]) -> VectorBlock:
    """The block itself if all its numbers are finite; `where` names the place of a row."""
    bad = ~np.isfinite(block.vectors).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise EmbeddingError(
            expected="finite numbers",
            got=f"NaN or infinity in the vector of {block.words[row]!r}",
            where=where(row),
            remedy="remove that entry or fetch the file again",
        )
    return block


LONGEST_WORD = 4096
"""A name longer than this means that the file is not what its header says."""


def read_binary(stream: BinaryIO, *, where: str, keep: Keep) -> Iterator[VectorBlock]:
    """Yield the words to keep of a word2vec .bin file block by block."""
    header = header_of(stream.readline(LONGEST_WORD))
    if header is None:
        raise EmbeddingError(
            expected="a first line with the number of words and the width of a vector",
            got="something else",
            where=where,
            remedy="give a word2vec .bin file",
        )
    done, buffer = 0, b""
    while done < header.words:
        chunk = stream.read(BLOCK_BYTES)
        buffer += chunk
        names, payload, used = _whole_records(buffer, header, most=header.words - done)
        if not names and (not chunk or len(buffer) > LONGEST_WORD + 4 * header.width):
            header.check_count(done, where)
        buffer = buffer[used:]
        yield _block(names, payload, header=header, first=done, where=where, keep=keep)
        done += len(names)
    surplus = (buffer + stream.read(LONGEST_WORD)).strip()
    if surplus:
        raise EmbeddingError(
            expected=f"{header.words} vectors of width {header.width}, as the header says",
            got="more bytes after them",
            where=where,
            remedy="the header disagrees with the content: fetch the file again",
        )


def _whole_records(buffer: bytes, header: Header, *, most: int) -> tuple[list[bytes], list[bytes], int]:
    """The names and numbers of all records that `buffer` holds completely, and how many bytes they take."""
    names: list[bytes] = []
    payload: list[bytes] = []
    size, used = 4 * header.width, 0
    while len(names) < most:
        space = buffer.find(b" ", used, used + LONGEST_WORD)
        end = space + 1 + size
        if space < 0 or end > len(buffer):
            break
        names.append(buffer[used:space].lstrip(b"\n"))
        payload.append(buffer[space + 1 : end])
        used = end
    return names, payload, used


def _block(
    names: list[bytes], payload: list[bytes], *, header: Header, first: int, where: str, keep: Keep
) -> VectorBlock:
    words: list[str] = []
    kept: list[int] = []
    for record, name in enumerate(names):
        try:
            word = name.decode()
        except UnicodeDecodeError as problem:
            raise EmbeddingError(
                expected="words in UTF-8",
                got=repr(name[:40]),
                where=f"{where}, record {first + record + 1}",
                remedy="the width in the header is wrong, or the file is in another encoding",
            ) from problem
        if word and "\n" not in word and keep(word):
            words.append(word)
            kept.append(record)
    numbers = np.frombuffer(b"".join(payload[record] for record in kept), dtype="<f4").astype(np.float32, copy=False)
    block = VectorBlock(words, numbers.reshape(len(words), header.width))
    return check_finite(block, lambda row: f"{where}, record {first + kept[row] + 1}")


def read_npy_parquet(vectors_path: Path, words_path: Path, *, keep: Keep) -> Iterator[VectorBlock]:
    """Yield the words to keep block by block; the array is mapped, never read whole."""
    words = _words_of(words_path)
    try:
        vectors = np.load(vectors_path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as problem:
        raise EmbeddingError(
            expected="a NumPy array of vectors",
            got=str(problem).lower(),
            where=str(vectors_path),
            remedy="fetch it again",
        ) from problem
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != len(words):
        raise EmbeddingError(
            expected=f"a row of numbers for each of the {len(words)} words of {words_path.name}",
            got=f"{vectors.dtype} of shape {tuple(vectors.shape)}",
            where=str(vectors_path),
            remedy="give an array and a word list that belong together",
        )
    step = max(1, BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(words), step):
        kept = [row for row, word in enumerate(words[start : start + step], start=start) if keep(word)]
        block = VectorBlock([words[row] for row in kept], vectors[kept].astype(np.float32))
        yield check_finite(block, lambda row, kept=kept: f"{vectors_path}, row {kept[row]}")  # type: ignore[misc]


def _words_of(path: Path) -> list[str]:
    """The first column of strings in a Parquet file."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as problem:
        raise EmbeddingError(
            expected="pyarrow, which reads Parquet files",
            got="a Python without it",
            where=str(path),
            remedy="pip install 'sgbt[parquet]'",
        ) from problem
    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as problem:
        raise EmbeddingError(
            expected="a Parquet file of words", got="something else", where=str(path), remedy="fetch it again"
        ) from problem
    for column in table.columns:
        if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
            words: list[str] = column.to_pylist()
            if any(word is None for word in words):
                raise EmbeddingError(expected="a word in every row", got="an empty cell", where=str(path))
            return words
    raise EmbeddingError(
        expected="a column of words", got=", ".join(table.column_names) or "no column", where=str(path)
    )
