"""Vectors in which a word and its substitutes start close together: a good start for training against substitution."""

from __future__ import annotations

import numpy as np

from sgbt.embeddings import EmbeddingTable
from sgbt.lexicon.table import SubstitutionTable


def smoothed_vectors(vectors: EmbeddingTable, table: SubstitutionTable) -> EmbeddingTable:
    """Every word's vector replaced by the mean of its own and those of its substitutes that have one."""
    result = np.array(vectors.vectors)
    for word, substitutes in table.entries.items():
        own = vectors.index.get(word)
        if own is not None:
            near = [own, *(vectors.index[each] for each in substitutes if each in vectors.index)]
            result[own] = vectors.vectors[near].mean(axis=0)
    return EmbeddingTable(vectors.words, result, f"{vectors.name} averaged over substitutes")
