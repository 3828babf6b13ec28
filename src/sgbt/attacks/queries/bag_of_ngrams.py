"""BagOfNgrams, asked about many variants of several texts: only the n-grams that a swap touches are looked up.

The model reads codes alone, so variants whose words have the same codes have the same logits, and each such sequence of
codes is scored once. It counts the presence of n-grams, so what a changed word adds or takes away depends on how often
the rest of the text has the n-gram: the original's n-grams are counted once, and a variant is the original with some
n-grams fewer and some more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.queries.engine import IdQuery, Ids, Neighbourhood, query_engine
from sgbt.models import BagOfNgrams
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, MAP_SHIFT

Array = NDArray[Any]
MOST = 1 << 15
"""Variants of a text whose logits are remembered; then all are forgotten, so that memory stays small."""


class BagOfNgramsEngine:
    """The features and weights of a model, in float64."""

    def __init__(self, model: BagOfNgrams) -> None:
        self.codes = model.maps.numpy()
        self.longest, self.ending = model.config.longest, model.config.ending
        self.weight, self.bias = model.weight.detach().double().numpy(), model.bias.detach().double().numpy()
        self._keys = model.keys.numpy()

    def open(self, ids: Ids, length: int) -> TextNgrams:
        """Count the n-grams of the original text."""
        return TextNgrams(self, ids)

    def answers(self, opened: Sequence[TextNgrams], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """Logits of texts and of their changes, text by text."""
        return [text.answer(query) for text, query in zip(opened, queries, strict=True)]

    def places(self, keys: Array) -> Array:
        """The rows of the weights of n-grams by their keys; -1 for those that have no weight."""
        if not len(self._keys):
            return np.full(len(keys), -1)
        found = self._keys.searchsorted(keys).clip(max=len(self._keys) - 1)
        return np.where(self._keys[found] == keys, found, -1)


class TextNgrams:
    """Answers about variants of one text, `ids[i, c]` being the word of choice c at position i.

    A variant is a row of numbers, one for each position: words have the same number where all maps give them one code.
    """

    def __init__(self, engine: BagOfNgramsEngine, ids: Ids) -> None:
        self._engine, self._length = engine, len(ids)
        self._codes, numbers = np.unique(engine.codes[:, ids.reshape(-1)], axis=1, return_inverse=True)
        self._numbers = numbers.reshape(ids.shape)
        self._positions = np.arange(self._length)
        self._original = self._numbers[:, 0]
        sizes = range(1, engine.longest + 1)
        self._sizes, self._offsets = np.array([(size, offset) for size in sizes for offset in range(size)]).T
        slots = [(size - 1) * self._length + np.arange(max(self._length - size + 1, 0)) for size in sizes]
        slots_of_text = np.concatenate(slots)
        _, places = self._features(self._original[None], np.zeros_like(slots_of_text), slots_of_text)
        self._present, self._counts = np.unique(places, return_counts=True)
        self._logits = engine.bias + engine.weight[self._present].sum(axis=0)
        self._known: dict[bytes, Array] = {}

    def answer(self, query: IdQuery) -> Neighbourhood:
        """Logits of texts and of one-word changes of them; a change that keeps all codes changes nothing."""
        texts, swaps = self._numbers[self._positions, query.states], query.swaps
        found = self._scored(texts)
        if not len(swaps):
            return Neighbourhood(found, found[:0])
        new = self._numbers[swaps.positions, swaps.choices]
        moved = np.flatnonzero(new != texts[swaps.owners, swaps.positions])
        changed = found[swaps.owners]
        if len(moved):
            owners, positions = swaps.owners[moved], swaps.positions[moved]
            contents = (owners * self._length + positions) * self._codes.shape[1] + new[moved]
            _, first, which = np.unique(contents, return_index=True, return_inverse=True)
            variants = texts[owners[first]]
            variants[np.arange(len(first)), positions[first]] = new[moved[first]]
            changed[moved] = self._scored(variants)[which.reshape(-1)]
        return Neighbourhood(found, changed)

    def _scored(self, variants: Array) -> Array:
        """Logits of variants; those that are neither the original nor known are computed."""
        found = np.repeat(self._logits[None], len(variants), axis=0)
        differing = np.flatnonzero((variants != self._original).any(axis=1))
        if not len(differing):
            return found
        variants = variants[differing]
        keys = [variant.tobytes() for variant in variants]
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        if new:
            if len(self._known) + len(new) > MOST:
                self._known.clear()
                new = {key: place for place, key in enumerate(keys)}
            self._known.update(zip(new, self._computed(variants[list(new.values())]), strict=True))
        found[differing] = [self._known[key] for key in keys]
        return found

    def _computed(self, variants: Array) -> Array:
        """What n-grams that hold a changed word take from the original's logits, and what they add in their place."""
        owners, positions = np.nonzero(variants != self._original)
        starts = positions[:, None] - self._offsets
        slots = owners[:, None] * (self._length * self._engine.longest) + (self._sizes - 1) * self._length + starts
        within = (starts >= 0) & (starts + self._sizes <= self._length)
        owners, slots = np.divmod(np.unique(slots[within]), self._length * self._engine.longest)
        lost, old = self._features(np.broadcast_to(self._original, variants.shape), owners, slots)
        won, new = self._features(variants, owners, slots)
        rows = len(self._engine.weight)
        pairs, which = np.unique(np.concatenate([lost * rows + old, won * rows + new]), return_inverse=True)
        more = np.bincount(which, np.repeat([-1.0, 1.0], [len(old), len(new)]), minlength=len(pairs))
        owners, places = np.divmod(pairs, max(rows, 1))
        at = self._present.searchsorted(places).clip(max=max(len(self._present) - 1, 0))
        before = np.where(self._present[at] == places, self._counts[at], 0) if len(self._present) else np.zeros(len(at))
        change = (before + more > 0).astype(np.float64) - (before > 0)
        moved = [
            np.bincount(owners, change * self._engine.weight[places, label], minlength=len(variants))
            for label in range(len(self._logits))
        ]
        logits: Array = self._logits + np.stack(moved, axis=1)
        return logits

    def _features(self, texts: Array, owners: Array, slots: Array) -> tuple[Array, Array]:
        """The n-grams that have weights among the given ones: their texts, and the rows of their weights.

        N-gram j stands in text `owners[j]`; its slot is (its size - 1) x the text's length + its start.
        """
        sizes, starts = np.divmod(slots, max(self._length, 1))
        late = starts >= self._length - self._engine.ending
        words = [texts[owners, np.minimum(starts + offset, self._length - 1)] for offset in range(self._engine.longest)]
        found: list[tuple[Array, Array]] = []
        for number, codes in enumerate(self._codes):
            keys, real = np.full(len(slots), 0, np.int64), np.ones(len(slots), bool)
            for offset, word in enumerate(words):
                inside, code = sizes >= offset, codes[word]
                keys = np.where(inside, keys << BITS | code, keys)
                real &= ~inside | (code > 0)
            keys |= number << MAP_SHIFT
            for which, marked in ((real, keys), (real & late, keys | AT_THE_END)):
                places = self._engine.places(marked[which])
                found.append((owners[which][places >= 0], places[places >= 0]))
        whose, rows = (np.concatenate(each) for each in zip(*found, strict=True))
        return whose, rows


query_engine.register(BagOfNgrams, BagOfNgramsEngine)
