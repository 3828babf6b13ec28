"""EmbeddingTable: words and their vectors."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sgbt.core.documents import read_json
from sgbt.core.errors import EmbeddingError, SgbtError
from sgbt.core.files import atomic_folder
from sgbt.embeddings.binary import VectorBlock

CLITIC_ALIASES: Mapping[str, str] = {
    "n't": "not",
    "'ll": "will",
    "'re": "are",
    "'ve": "have",
    "'m": "am",
    "'d": "would",
    "'s": "is",
}
"""The full word that stands in for a clitic which a table does not list. Many published tables list none of them."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which of the words asked for have a vector: their own, or that of the full word behind a clitic.

    `running_share` weighs every word by how often it occurs; without counts every word weighs the same.
    """

    words: int
    own: int
    aliased: tuple[str, ...]
    missing: tuple[str, ...]
    running_share: float

    @property
    def share(self) -> float:
        """The share of distinct words that have a vector."""
        return (self.own + len(self.aliased)) / self.words if self.words else 1.0

    def __str__(self) -> str:
        examples = f" (most frequent without: {' '.join(self.missing[:5])})" if self.missing else ""
        return (
            f"{self.own + len(self.aliased):,} of {self.words:,} words have a vector ({self.share:.1%}), "
            f"{self.running_share:.1%} of running words{examples}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingTable:
    """A map from words to vectors of one width.

    Row i of `vectors` belongs to `words[i]`. Words are distinct and every number is finite. The array is read-only and
    may be a memory map: a loaded table costs memory only for the rows that are looked at.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    name: str = "vectors"
    index: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vectors = np.asarray(self.vectors)
        if vectors.ndim != 2 or vectors.dtype != np.float32 or len(vectors) != len(self.words) or vectors.shape[1] == 0:
            raise EmbeddingError(
                expected=f"a float32 array with one row for each of {len(self.words)} words",
                got=f"{vectors.dtype} of shape {tuple(vectors.shape)}",
                where=self.name,
            )
        if vectors.size and not (np.isfinite(vectors.min()) and np.isfinite(vectors.max())):
            raise EmbeddingError(expected="finite numbers", got="NaN or infinity in a vector", where=self.name)
        words = tuple(self.words)
        index = dict(zip(words, range(len(words)), strict=True))
        if len(index) != len(words):
            raise EmbeddingError(expected="distinct words", got=f"{len(words) - len(index)} repeated", where=self.name)
        read_only = vectors.view()
        read_only.flags.writeable = False
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", read_only)
        object.__setattr__(self, "index", index)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of a word that the table lists."""
        row = self.index.get(word)
        if row is None:
            raise EmbeddingError(
                expected="a word that has a vector", got=repr(word), where=self.name, remedy="ask `word in table` first"
            )
        return np.asarray(self.vectors[row])

    def normalised(self) -> EmbeddingTable:
        """The same table with every vector scaled to length one; a zero vector stays zero."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        unit = self.vectors / np.where(lengths == 0, 1, lengths)
        return EmbeddingTable(self.words, unit.astype(np.float32, copy=False), f"{self.name} normalised")

    def condensed(self, width: int, *, spread: float) -> EmbeddingTable:
        """The `width` principal directions of the centred vectors, scaled to a root mean square of `spread`."""
        if not 1 <= width <= self.width:
            raise EmbeddingError(expected=f"a width from 1 to {self.width}", got=str(width), where=self.name)
        centred = np.asarray(self.vectors, dtype=np.float64)
        centred = centred - centred.mean(axis=0)
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :width]
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(width)])  # a direction has no sign of its own
        short = centred @ directions
        size = float(np.sqrt((short**2).mean())) or 1.0
        short *= spread / size
        return EmbeddingTable(self.words, short.astype(np.float32), f"{self.name}, {width} directions")

    def restricted_to(self, words: Iterable[str]) -> EmbeddingTable:
        """The rows of `words` that the table lists, in the table's own order."""
        rows = np.array(sorted({self.index[word] for word in words if word in self.index}), dtype=np.int64)
        return EmbeddingTable(tuple(self.words[row] for row in rows), self.vectors[rows], self.name)

    def row_of(self, word: str) -> int | None:
        """The row that stands for `word`: its own, else that of the full word behind a clitic, else None."""
        row = self.index.get(word)
        if row is None and word in CLITIC_ALIASES:
            row = self.index.get(CLITIC_ALIASES[word])
        return row

    def matrix(self, words: Sequence[str], *, seed: int) -> NDArray[np.float32]:
        """One row per word, ready to initialise an embedding layer.

        A word without a vector gets a random direction scaled to the table's median length. It depends only on the
        word, the seed and the table, so neither the other words nor their order change it. A clitic that the table
        lacks (n't, 's, ...) takes the vector of the word it shortens (not, is, ...).
        """
        found = [self.row_of(word) for word in words]
        present = np.array([row is not None for row in found], dtype=bool)
        result = np.empty((len(words), self.width), dtype=np.float32)
        result[present] = self.vectors[np.array([row for row in found if row is not None], dtype=np.int64)]
        if not present.all():
            scale = self.typical_length()
            for position in np.flatnonzero(~present).tolist():
                result[position] = scale * _random_direction(words[position], seed=seed, width=self.width)
        return result

    def typical_length(self) -> float:
        """The median length of a vector; one for a table without words."""
        if not len(self.words):
            return 1.0
        sample = self.vectors[:: max(1, len(self.words) // 100_000)]
        return float(np.median(np.linalg.norm(sample, axis=1)))

    def coverage(self, words: Iterable[str] | Mapping[str, int]) -> Coverage:
        """How many of `words` have a vector; give counts as a mapping to weigh them by how often they occur."""
        counts = words if isinstance(words, Mapping) else dict.fromkeys(words, 1)
        own = sum(word in self.index for word in counts)
        aliased = tuple(word for word in counts if word not in self.index and self.row_of(word) is not None)
        missing = sorted((word for word in counts if self.row_of(word) is None), key=lambda word: (-counts[word], word))
        total = sum(counts.values())
        covered = total - sum(counts[word] for word in missing)
        return Coverage(len(counts), own, aliased, tuple(missing), covered / total if total else 1.0)


def _random_direction(word: str, *, seed: int, width: int) -> NDArray[np.float64]:
    """A direction drawn uniformly from the sphere by a generator seeded with the word and the seed."""
    digest = hashlib.blake2b(f"{seed}:{word}".encode(), digest_size=16).digest()
    drawn = np.random.default_rng(int.from_bytes(digest, "big")).standard_normal(width)
    return drawn / np.linalg.norm(drawn)


_ABOUT, _WORDS, _VECTORS = "about.json", "words.txt", "vectors.npy"


def cached(folder: Path, read: Callable[[], Iterator[VectorBlock]], *, name: str) -> EmbeddingTable:
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


def in_memory(blocks: Iterator[VectorBlock], *, name: str) -> EmbeddingTable:
    """A table that lives in memory only."""
    collected = list(blocks)
    words = tuple(word for block in collected for word in block.words)
    return EmbeddingTable(words, np.concatenate([block.vectors for block in collected]), name)


def _write(folder: Path, blocks: Iterator[VectorBlock]) -> None:
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
