"""Codes: words that substitution connects, made one.

A code map sends every vocabulary id to a code. Any map is sound, because the set of allowed words is mapped with it: a
set whose words share a code becomes a single point, and whatever reads only codes cannot be moved there at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from sgbt.threats.louvain import Graph, louvain
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary


def community_codes(
    vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int], *, resolution: float = 1.0
) -> np.ndarray:
    """Communities of the substitution graph: groups of words with many links among them and few to other groups.

    A text whose words can only become words of their own community keeps its codes under every substitution. One code
    for all words that a chain of substitutions connects would make that true of every text, but the longest chains
    connect words as far apart as good and bad. Communities (Louvain's method; a link counts as
    often as the word that it replaces occurs) leave few words at the borders, whose sets have several codes and are
    bounded as sets. A higher `resolution` makes communities smaller and borders longer. A word without links is a
    community by itself. Codes are numbered from 2; 0 is padding, 1 unknown.
    """
    ends, weights = substitution_graph(vocabulary, table, counts)
    words = UNKNOWN + 1
    codes = np.arange(len(vocabulary))
    codes[words:] = _by_first(louvain(Graph.of(len(vocabulary) - words, ends - words, weights), resolution)) + words
    return np.unique(codes, return_inverse=True)[1]


def community_levels(
    vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int], *, resolutions: Sequence[float]
) -> np.ndarray:
    """Communities at several resolutions, [resolutions, ids]: each id has the first id of its community.

    Words without links are left out of the search: it is quicker, and in another order, than that of
    `community_codes`, so the communities may differ a little from those.
    """
    ends, weights = substitution_graph(vocabulary, table, counts)
    linked, ends = np.unique(ends, return_inverse=True)
    graph = Graph.of(len(linked), ends.reshape(-1, 2), weights)
    levels = np.tile(np.arange(len(vocabulary)), (len(resolutions), 1))
    for level, resolution in zip(levels, resolutions, strict=True):
        level[linked] = linked[_by_first(louvain(graph, resolution))]
    return levels


def _by_first(labels: np.ndarray) -> np.ndarray:
    """Labels that are the first place of their group instead of its number."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    named: np.ndarray = first[group]
    return named


def substitution_graph(
    vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of words of which one may replace the other, [links, 2]; a link weighs as often as the first occurs."""
    known = vocabulary.index
    others = [[known[other] for other in table.substitutes(word) if other in known] for word in vocabulary.words]
    links = np.array(list(map(len, others)), np.int64)
    often = np.array([counts.get(word, 0) + 1 for word in vocabulary.words]) / np.maximum(links, 1)
    one = np.repeat(np.arange(len(links)) + UNKNOWN + 1, links)
    other = np.fromiter(chain.from_iterable(others), np.int64, len(one))
    return np.stack([one, other], axis=1), np.repeat(often, links)


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
