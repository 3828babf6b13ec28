"""What the cells of a grid are made of: datasets, vectors and substitution tables, read once per process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from sgbt.core.errors import EvaluationError
from sgbt.data import TextDataset, load_dataset
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.evaluate.grid import DEV, DataSource
from sgbt.evaluate.toy import CLASSES, toy_dataset, toy_table, toy_vectors
from sgbt.threats import EmbeddingStart, SubstitutionTable, Threat, parse_threat
from sgbt.threats.named import check_table_name, table_named

TOY = "toy"
T = TypeVar("T")


@dataclass
class Materials:
    """Named things, kept once read. `data_home` is looked into first, as everywhere."""

    data_home: Path | None = None
    _kept: dict[tuple[str, object], object] = field(default_factory=dict, repr=False)

    def dataset(self, source: DataSource) -> TextDataset:
        """The dataset, cut to the texts that the grid asks for; where dev is measured, dev stands for test too."""
        return self._once("dataset", source, lambda: self._dataset(source))

    def dataset_hash(self, source: DataSource) -> str:
        """The fingerprint of its texts, labels and splits."""
        return self._once("dataset hash", source, lambda: self.dataset(source).hash)

    def vectors(self, name: str) -> EmbeddingTable:
        """Word vectors by name or path."""
        return self._once("vectors", name, lambda: self._vectors(name))

    def vectors_hash(self, name: str) -> str:
        """The fingerprint of words and numbers."""
        return self._once("vectors hash", name, lambda: hash_of_vectors(self.vectors(name)))

    def start(self, vectors: str, start: EmbeddingStart, substitutions: str) -> EmbeddingTable:
        """What an embedding starts from: vectors by name, with what `start` makes of them and a table by name."""
        if start == EmbeddingStart():
            return self.vectors(vectors)
        made = ("start", (vectors, start, substitutions))
        return self._once(*made, lambda: start.of(self.vectors(vectors), self.table(substitutions, vectors)))

    def start_hash(self, vectors: str, start: EmbeddingStart, substitutions: str) -> str:
        """The fingerprint of the vectors, the table and what is made of them.

        Not of the numbers made: their last bits depend on how many threads made them.
        """
        if start == EmbeddingStart():
            return self.vectors_hash(vectors)
        parts = self.vectors_hash(vectors), self.table(substitutions, vectors).hash, repr(start)
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def table(self, name: str, vectors: str) -> SubstitutionTable:
        """A substitution table by name or path; some are made from vectors."""
        return self._once("table", (name, vectors), lambda: self._table(name, vectors))

    def threat(self, written: str, vectors: str) -> Threat:
        """A threat as the command line writes it, its table found by name."""
        return self._once(
            "threat", (written, vectors), lambda: parse_threat(written, lambda name: self.table(name, vectors))
        )

    def _dataset(self, source: DataSource) -> TextDataset:
        if source.source in CLASSES:
            whole = toy_dataset(source.source)
        else:
            named = partial(load_dataset, source.source, text=source.text, label=source.label, data_home=self.data_home)
            whole = named(dev=0.0) if source.dev == 0 else named()
        measured = whole.dev if source.split == DEV else whole.test
        train, dev, test = (
            split if (rows := sample_rows(len(split), size, seed=0)) is None else split.take(rows)
            for split, size in ((whole.train, source.train), (whole.dev, source.dev), (measured, source.test))
        )
        return TextDataset(source.name, whole.label_names, train, dev, test, whole.duplicates)

    def _vectors(self, name: str) -> EmbeddingTable:
        return toy_vectors() if name == TOY else load_embeddings(name, data_home=self.data_home)

    def _table(self, name: str, vectors: str) -> SubstitutionTable:
        table = (
            toy_table() if name == TOY else table_named(name, lambda: self.vectors(vectors), data_home=self.data_home)
        )
        if table is None:
            raise EvaluationError(
                expected="a substitution table", got=repr(name), where="substitutions", remedy="use counter_fitted"
            )
        return table

    def _once(self, kind: str, name: object, make: Callable[[], T]) -> T:
        if (kind, name) not in self._kept:
            self._kept[kind, name] = make()
        return self._kept[kind, name]  # type: ignore[return-value]


def check_threat(written: str) -> None:
    """That a threat can be read, without the making of tables that it names."""

    def stand_in(name: str) -> SubstitutionTable:
        if name != TOY:
            check_table_name(name)
        return SubstitutionTable({}, name)

    parse_threat(written, stand_in)


def hash_of_vectors(vectors: EmbeddingTable) -> str:
    """The SHA-256 of a table's words and numbers."""
    whole = hashlib.sha256("\n".join(vectors.words).encode("utf-8", "surrogatepass"))
    for start in range(0, len(vectors), 1 << 14):
        whole.update(np.ascontiguousarray(vectors.vectors[start : start + (1 << 14)]).tobytes())
    return whole.hexdigest()


def sample_rows(total: int, size: int | None, *, seed: int) -> tuple[int, ...] | None:
    """The numbers of `size` texts drawn at random from `total`, in their order; None for all of them."""
    if size is None or size >= total:
        return None
    return tuple(sorted(np.random.default_rng(seed).permutation(total)[:size].tolist()))
