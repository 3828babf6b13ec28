"""Codes: words that substitution connects, made one.

A code map sends every vocabulary id to a code. Any map is sound, because the set of allowed words is mapped with it: a
set whose words share a code becomes a single point, and whatever reads only codes cannot be moved there at all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sgbt.lexicon.table import SubstitutionTable
from sgbt.lexicon.vocabulary import PADDING, UNKNOWN, Vocabulary


def invariant_codes(
    vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int], *, frequent: int = 100
) -> np.ndarray:
    """Connected components of the substitution graph, with frequent words that cannot be replaced kept apart.

    Two words that a chain of substitutions connects get one code, so no substitution changes a code. One giant
    component would swallow function words that merely occur as somebody's substitute; so a word that has no substitutes
    of its own and occurs `frequent` times or more keeps its own code. A word that can become such a word is ambiguous:
    its allowed set has several codes, and is bounded as a set. Codes are numbered from 2; 0 is padding, 1 unknown.
    """
    parent = list(range(len(vocabulary)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    apart = {word for word in vocabulary.words if word not in table and counts.get(word, 0) >= frequent}
    for word in vocabulary.words:
        for substitute in table.substitutes(word):
            if substitute in vocabulary and substitute not in apart:
                parent[root(vocabulary.id_of(word))] = root(vocabulary.id_of(substitute))
    roots = np.array([root(place) for place in range(len(vocabulary))])
    _, codes = np.unique(roots[2:], return_inverse=True)
    return np.concatenate([[PADDING, UNKNOWN], codes + 2])


def synonym_codes(vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int]) -> np.ndarray:
    """Synonym encoding (SEM, Wang et al. 2021, Algorithm 1): the id that stands for each word's cluster.

    Words are taken by falling frequency. One without a code takes that of its nearest synonym that has one, else it
    founds a cluster of its own; then it gives its code to its synonyms that have none.
    """
    codes = np.arange(len(vocabulary))
    assigned = np.zeros(len(vocabulary), dtype=bool)
    for word in sorted(vocabulary.words, key=lambda word: (-counts.get(word, 0), word)):
        place = vocabulary.id_of(word)
        synonyms = [vocabulary.id_of(other) for other in table.substitutes(word) if other in vocabulary]
        if not assigned[place]:
            coded = [other for other in synonyms if assigned[other]]
            codes[place] = codes[coded[0]] if coded else place
            assigned[place] = True
        for other in synonyms:
            if not assigned[other]:
                codes[other] = codes[place]
                assigned[other] = True
    return codes


def code_matrix(matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One row per code: the mean vector of its words, weighed by their counts (a word never seen counts once)."""
    rows = int(codes.max()) + 1
    heavy = np.maximum(weights, 1.0)[:, None]
    total = np.zeros((rows, matrix.shape[1]))
    np.add.at(total, codes, matrix * heavy)
    return (total / np.maximum(np.bincount(codes, heavy[:, 0], rows), 1e-9)[:, None]).astype(np.float32)
