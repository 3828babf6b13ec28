"""Counter-fitting (Mrksic et al. 2016): move word vectors so that synonyms draw together and antonyms apart.

The three terms of the paper, for unit vectors and cosine distance d: antonyms closer than `antonym_margin` repel;
synonyms farther than `synonym_margin` attract; and words that were within `neighbourhood` of each other before attract
again when they drift farther apart than they were (vector space preservation).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats.neighbours import neighbour_entries, pairs_within, single_words
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.table_json import kept_table
from sgbt.threats.wordnet import load_wordnet
from sgbt.threats.wordnet_database import PARTS_OF_SPEECH, WordNet


@dataclass(frozen=True, slots=True)
class CounterFitting:
    """The hyper-parameters, with the published values: margins delta and gamma, radius rho, weights k1, k2, k3."""

    antonym_margin: float = 1.0
    synonym_margin: float = 0.0
    neighbourhood: float = 0.2
    antonym_weight: float = 0.1
    synonym_weight: float = 0.1
    preservation_weight: float = 0.1
    steps: int = 20

    def __post_init__(self) -> None:
        for name in ("antonym_margin", "synonym_margin", "neighbourhood"):
            value = getattr(self, name)
            if not 0 <= value <= 2:
                raise LexiconError(expected=f"a cosine distance between 0 and 2 for {name}", got=str(value))
        for name in ("antonym_weight", "synonym_weight", "preservation_weight", "steps"):
            value = getattr(self, name)
            if not value >= 0:
                raise LexiconError(expected=f"{name} of at least 0", got=str(value))

    def fit(
        self, vectors: NDArray[np.float32], *, synonyms: NDArray[np.int64], antonyms: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Unit vectors moved by `steps` of gradient descent.

        Input: vectors [n, width], scaled to length one first; pairs of rows [pairs, 2], each unordered pair once.
        In a step every word moves by the mean of what its active pairs ask for, as in the authors' program, and returns
        to length one. A pair that is both synonym and antonym counts as antonym.
        """
        points = torch.from_numpy(np.array(vectors, dtype=np.float32))
        points /= points.norm(dim=1, keepdim=True).clamp_min(1e-12)
        repel = _both_ways(antonyms)
        attract = _without(_both_ways(synonyms), repel, len(points))
        keep = torch.empty((0, 2), dtype=torch.int64)
        if self.preservation_weight > 0:
            close = pairs_within(points.numpy(), cosine_distance=self.neighbourhood)
            keep = _without(_both_ways(close), repel, len(points))
        original = _cosine_distance(points, keep)
        for _ in range(self.steps):
            shift, active = torch.zeros_like(points), torch.zeros(len(points))
            for pairs, weight, apart in (
                (repel, self.antonym_weight, None),
                (attract, -self.synonym_weight, self.synonym_margin),
                (keep, -self.preservation_weight, original),
            ):
                gaps = _cosine_distance(points, pairs)
                acting = pairs[gaps < self.antonym_margin if apart is None else gaps > apart + _ROUNDING]
                _accumulate(shift, active, points, acting, weight)
            points += shift / active.clamp_min(1)[:, None]
            points /= points.norm(dim=1, keepdim=True).clamp_min(1e-12)
        return points.numpy()


_CHUNK = 1 << 15
_ROUNDING = 1e-6
"""Distances in single precision are right to about this. A step has a fixed size, so without the slack rounding alone
would draw pairs together that did not move at all."""


def _cosine_distance(points: Tensor, pairs: Tensor) -> Tensor:
    """1 - x.y for every pair, a chunk of pairs at a time."""
    parts = [1 - (points[part[:, 0]] * points[part[:, 1]]).sum(1) for part in pairs.split(_CHUNK)]
    return torch.cat(parts) if parts else torch.empty(0)


def _accumulate(shift: Tensor, active: Tensor, points: Tensor, pairs: Tensor, weight: float) -> None:
    """Add `weight` times the gradient of d(x, y) for x, which on the sphere is (x.y) x - y, to every x of the pairs."""
    for part in pairs.split(_CHUNK):
        x, y = points[part[:, 0]], points[part[:, 1]]
        shift.index_add_(0, part[:, 0], ((x * y).sum(1, keepdim=True) * x - y) * weight)
        active.index_add_(0, part[:, 0], torch.ones(len(part)))


def _both_ways(pairs: NDArray[np.int64]) -> Tensor:
    """Each unordered pair once in either direction, in a fixed order."""
    both = np.concatenate([pairs, pairs[:, ::-1]]) if len(pairs) else np.empty((0, 2), dtype=np.int64)
    return torch.from_numpy(np.unique(both[both[:, 0] != both[:, 1]], axis=0).reshape(-1, 2))


def _without(pairs: Tensor, others: Tensor, count: int) -> Tensor:
    """The pairs that are not among `others`."""
    return pairs[~torch.isin(pairs[:, 0] * count + pairs[:, 1], others[:, 0] * count + others[:, 1])]


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
    """Which form of its lemma a word is; empty where the spelling does not say (an irregular past, say)."""
    if word == lemma:
        return "base"
    if pos == "n":
        return "plural"
    endings = ("s", "ing", "ed") if pos == "v" else ("er", "est")
    return next((ending for ending in endings if word.endswith(ending)), "")


def _as_array(pairs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


LEAST_SIMILARITY = 0.4
"""The cosine that two synonyms must have before fitting; see `wordnet_constraints`."""

_ALGORITHM = 1


def counter_fit_table(
    vectors: EmbeddingTable,
    wordnet: WordNet | None,
    *,
    nearest: int,
    distance: float,
    settings: CounterFitting | None,
    data_home: Path | None,
) -> SubstitutionTable:
    """The nearest words within `distance` of each other between unit vectors, after counter-fitting.

    A word's antonym is never among them, wherever the fitted vectors ended. The table is kept in the user's cache
    folder under everything it depends on.
    """
    settings = settings or CounterFitting()
    usable = _with_letters(single_words(vectors))
    constraints = wordnet_constraints(
        wordnet or load_wordnet(data_home=data_home), usable, least_similarity=LEAST_SIMILARITY
    )

    def made() -> SubstitutionTable:
        points = settings.fit(usable.vectors, synonyms=constraints.synonyms, antonyms=constraints.antonyms)
        entries = neighbour_entries(usable.words, points, nearest=nearest, distance=distance)
        name = f"counter-fitted here ({vectors.name}, WordNet), nearest {nearest} within {distance:g}"
        return SubstitutionTable(_without_antonyms(entries, usable, constraints), name)

    return kept_table(f"counter-fit/{_key(usable, constraints, settings, nearest, distance)}.json.gz", made)


def _with_letters(vectors: EmbeddingTable) -> EmbeddingTable:
    """Without numbers ("2", "10th") and marks: they are near one another in any space, and no two mean the same."""
    return vectors.restricted_to(
        word for word in vectors.words if any(map(str.isalpha, word)) and not any(map(str.isdigit, word))
    )


def _without_antonyms(
    entries: dict[str, tuple[str, ...]], vectors: EmbeddingTable, constraints: Constraints
) -> dict[str, tuple[str, ...]]:
    opposed = {
        (vectors.words[first], vectors.words[second])
        for pair in constraints.antonyms.tolist()
        for first, second in (pair, pair[::-1])
    }
    return {
        word: tuple(substitute for substitute in substitutes if (word, substitute) not in opposed)
        for word, substitutes in entries.items()
    }


def _key(
    vectors: EmbeddingTable, constraints: Constraints, settings: CounterFitting, nearest: int, distance: float
) -> str:
    """Everything the table depends on, as a file name."""
    digest = hashlib.sha256(f"{_ALGORITHM}:{settings}:{nearest}:{distance}:{vectors.name}".encode())
    digest.update("\n".join(vectors.words).encode())
    for array in (vectors.vectors, constraints.synonyms, constraints.antonyms):
        digest.update(f"{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]
