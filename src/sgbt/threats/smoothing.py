"""Vectors in which a word and its substitutes start close together: a good start for training against substitution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats.table import SubstitutionTable


@dataclass(frozen=True, slots=True)
class EmbeddingStart:
    """What is made of word vectors before a model trains them further.

    `averaged` replaces every word's vector by the mean of its own and its substitutes', so that no box of substitutes
    is wide at the start. `width` keeps so many principal directions, scaled to a root mean square of `spread`.
    """

    averaged: bool = False
    width: int | None = None
    spread: float = 0.16

    def __post_init__(self) -> None:
        if (self.width is not None and self.width < 1) or not 0 < self.spread < math.inf:
            raise LexiconError(
                expected="a width of at least 1 and a spread above 0",
                got=f"width {self.width} and spread {self.spread:g}",
                where="the start of the embedding",
            )

    def of(self, vectors: EmbeddingTable, table: SubstitutionTable | None) -> EmbeddingTable:
        """The vectors to start from; `table` says who is averaged with whom."""
        if self.averaged:
            if table is None:
                raise LexiconError(
                    expected="substitutes to average over", got="none", where="the start of the embedding",
                    remedy="name substitutions, or leave out averaged",
                )  # fmt: skip
            vectors = smoothed_vectors(vectors, table)
        return vectors if self.width is None else vectors.condensed(self.width, spread=self.spread)


def smoothed_vectors(vectors: EmbeddingTable, table: SubstitutionTable) -> EmbeddingTable:
    """Every word's vector replaced by the mean of its own and those of its substitutes that have one."""
    result = np.array(vectors.vectors)
    for word, substitutes in table.entries.items():
        own = vectors.index.get(word)
        if own is not None:
            near = [own, *(vectors.index[each] for each in substitutes if each in vectors.index)]
            result[own] = vectors.vectors[near].mean(axis=0)
    return EmbeddingTable(vectors.words, result, f"{vectors.name} averaged over substitutes")
