"""BagOfWords, asked about many variants of several texts.

What a position adds to the logits depends on its word and on the codes of the two words beside it, so each such triple
is scored once (`WindowPool`), and a swap changes what three positions add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.attacks.queries.caches import WindowPool
from sgbt.attacks.queries.engine import IdQuery, Ids, Neighbourhood, query_engine
from sgbt.models import BagOfWords
from sgbt.models.bag_of_words.features import LARGEST
from sgbt.threats.vocabulary import PADDING

Array = NDArray[Any]


class BagOfWordsEngine:
    """The scores of triples met so far, and sums of them in float64, so that a swap leaves no rounding behind."""

    def __init__(self, model: BagOfWords) -> None:
        self._model = model
        self._codes = model.codes.numpy()
        self._bias = model.bias.detach().double().numpy()
        self._pool = WindowPool(np.zeros(len(self._bias)))
        self._factors_of: dict[int, Array] = {}

    def open(self, ids: Ids, length: int) -> None:
        """Nothing is remembered of a text: its triples are those of any text."""

    def answers(self, opened: Sequence[None], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """Logits of texts and of their changes, query by query."""
        return [self._answer(query) for query in queries]

    def _answer(self, query: IdQuery) -> Neighbourhood:
        length = query.ids.shape[1]
        # beyond both ends of a text stands padding, so a position and its neighbours always exist
        words = np.pad(query.ids, ((0, 0), (2, 2)), constant_values=PADDING)
        codes = np.pad(self._codes[query.ids], ((0, 0), (2, 2)), constant_values=PADDING)
        owners, at = query.swaps.owners[:, None], query.swaps.positions[:, None] + 2
        keys = _keys(words[:, 1:-1], codes)
        touched = at + np.arange(-2, 1)
        old = keys[owners, touched]
        around, near = words[owners, at + np.arange(-1, 2)], codes[owners, at + np.arange(-2, 3)]
        around[:, 1], near[:, 2] = query.new, self._codes[query.new]
        parts = (keys, old, _keys(around, near))
        rows = self._rows(np.concatenate([part.reshape(-1) for part in parts]))
        found = np.split(self._pool.values[rows], np.cumsum([part.size for part in parts[:2]]))
        factors = self._factors(length)
        shares = (factors, factors[touched], factors[touched])
        texts, before, after = (
            (own.reshape(*part.shape, len(self._bias)) * share[..., None]).sum(axis=1)
            for own, part, share in zip(found, parts, shares, strict=True)
        )
        changed = texts[query.swaps.owners] - before + after
        return Neighbourhood(texts + self._bias, changed + self._bias)

    @torch.no_grad()
    def _factors(self, length: int) -> Array:
        """What the scores of a text's positions are multiplied by, from one before its first to one behind its last."""
        if length not in self._factors_of:
            within = self._model.factors(torch.ones(1, length, dtype=torch.bool))[0]
            self._factors_of[length] = np.pad(within.double().numpy(), 1)
        return self._factors_of[length]

    def _rows(self, keys: Array) -> Array:
        """The pool's rows of triples; a position beyond the text adds nothing, and has row 0."""
        rows = np.zeros(len(keys), np.int64)
        real = np.flatnonzero(keys // LARGEST % LARGEST != PADDING)
        rows[real] = self._pool.rows(keys[real], lambda which: self._scores(keys[real[which]]))
        return rows

    @torch.no_grad()
    def _scores(self, keys: Array) -> Array:
        before, rest = np.divmod(keys, LARGEST * LARGEST)
        words, after = np.divmod(rest, LARGEST)
        scores = self._model.score(*(torch.from_numpy(part) for part in (words, before, after)))
        return scores.double().numpy()


def _keys(words: Array, codes: Array) -> Array:
    """One number for each word between the codes of its neighbours; there are two more codes than words."""
    found: Array = (codes[..., :-2] * LARGEST + words) * LARGEST + codes[..., 2:]
    return found


query_engine.register(BagOfWords, BagOfWordsEngine)
