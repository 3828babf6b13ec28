"""What WordNet asks of a vector space: pairs of words that should be near, and pairs that should be far apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbt.embeddings import EmbeddingTable
from sgbt.threats.wordnet_database import PARTS_OF_SPEECH, WordNet

Forms = dict[tuple[str, str], list[tuple[int, str]]]
"""For a part of speech and a lemma, the rows of the words that are forms of it, and which form each is."""


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Pairs of rows of an embedding table, [pairs, 2], each unordered pair once."""

    synonyms: NDArray[np.int64]
    antonyms: NDArray[np.int64]


def wordnet_constraints(wordnet: WordNet, vectors: EmbeddingTable, *, least_similarity: float) -> Constraints:
    """The synonyms and antonyms of WordNet among the words of a table.

    WordNet lists base forms only. What it says of them holds of inflected words too: "movies" and "films", both
    plurals, are synonyms, and "loved" is opposed to every form of "hate". A synonym pair counts when the vectors have a
    cosine of at least `least_similarity`: WordNet gives rare senses the same standing as common ones ("love", "jazz"),
    and a pair that is unrelated everywhere in the corpus shares only such a sense. Antonyms count always.
    """
    forms = _forms(wordnet, vectors)
    near: set[tuple[int, int]] = set()
    far: set[tuple[int, int]] = set()
    for pos in PARTS_OF_SPEECH:
        for lemmas in wordnet.members[pos].values():
            alike: dict[str, set[int]] = defaultdict(set)
            for lemma in lemmas:
                for row, form in forms.get((pos, lemma), ()):
                    if form:
                        alike[form].add(row)
            for rows in alike.values():
                near.update((a, b) for a in rows for b in rows if a < b)
        for first, second in wordnet.opposites[pos]:
            for a, _ in forms.get((pos, first), ()):
                far.update((min(a, b), max(a, b)) for b, _ in forms.get((pos, second), ()) if a != b)
    synonyms = _as_array(near)
    unit = vectors.normalised().vectors
    similar = np.einsum("ij,ij->i", unit[synonyms[:, 0]], unit[synonyms[:, 1]]) >= least_similarity
    return Constraints(synonyms[similar], _as_array(far))


def _forms(wordnet: WordNet, vectors: EmbeddingTable) -> Forms:
    forms: Forms = defaultdict(list)
    for row, word in enumerate(vectors.words):
        for pos in PARTS_OF_SPEECH:
            for lemma in wordnet.bases(word, pos):
                forms[pos, lemma].append((row, _form(word, lemma, pos)))
    return forms


def _form(word: str, lemma: str, pos: str) -> str:
    """Which form of its lemma a word is; empty where the spelling does not tell (an irregular past, say)."""
    if word == lemma:
        return "base"
    if pos == "n":
        return "plural"
    endings = ("s", "ing", "ed") if pos == "v" else ("er", "est")
    return next((ending for ending in endings if word.endswith(ending)), "")


def _as_array(pairs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
