"""Words whose vectors are near: the plainest substitution set, which takes antonyms for synonyms ("good", "bad")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats.neighbours import nearest_neighbours
from sgbt.threats.table import SubstitutionTable, not_words


def embedding_neighbours_table(
    vectors: EmbeddingTable, *, nearest: int, distance: float, normalised: bool
) -> SubstitutionTable:
    """The nearest words of each word, among those that are one token in lower case."""
    usable = single_words(vectors)
    points = (usable.normalised() if normalised else usable).vectors
    entries = neighbour_entries(usable.words, points, nearest=nearest, distance=distance)
    kind = "" if normalised else " of raw vectors"
    return SubstitutionTable(entries, f"neighbours in {vectors.name}{kind}, nearest {nearest} within {distance:g}")


def single_words(vectors: EmbeddingTable) -> EmbeddingTable:
    """The rows whose words can be substitutes at all, so that others do not take a place among the nearest."""
    wrong = not_words(vectors.words)
    return vectors.restricted_to(word for word in vectors.words if word not in wrong) if wrong else vectors


def neighbour_entries(
    words: tuple[str, ...], points: NDArray[np.float32], *, nearest: int, distance: float
) -> dict[str, tuple[str, ...]]:
    """For each word the words at the nearest points."""
    if nearest < 1:
        raise LexiconError(expected="at least 1 neighbour", got=str(nearest), where="nearest")
    if not distance > 0:
        raise LexiconError(expected="a distance above 0", got=str(distance), where="distance")
    found = nearest_neighbours(points, nearest=nearest, distance=distance)
    return {
        word: tuple(words[row] for row in rows if row >= 0)
        for word, rows in zip(words, found.rows.tolist(), strict=True)
        if rows[0] >= 0
    }
