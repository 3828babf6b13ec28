"""The least margins of a bag of words over the paths of a lattice: exact, up to rounding.

A bag of words alone is a matter of sums (`worst_path`). Positional weights depend on where a word stands and on how
many words there are: so there is a sum for each number of words that a text may have. Features of neighbours depend on
a word and the codes beside it: dynamic programming whose state is the last word and the code before it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from sgbt.certify.edits.histories import Floats, Ints, Symbols, least_values
from sgbt.certify.edits.margins import least_margins, rivals_of
from sgbt.certify.edits.unrolled import UnrolledLayer, lengths_of, unrolled
from sgbt.certify.edits.worst_path import least_sums
from sgbt.models import BagOfWords
from sgbt.models.bag_of_words.features import BITS
from sgbt.threats.lattice import ChoiceSets, Lattice


@least_margins.register
def _of_bag(model: BagOfWords, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    weight = model.weight.detach().double().cpu().numpy().copy()
    weight[0] = 0.0  # padding is no word
    bias = model.bias.detach().double().cpu().numpy()
    rivals = rivals_of(labels, len(bias))
    if model.config.features or model.places is not None:
        added = _by_position(model, lattices, labels, max_length, weight)
    else:
        table = _least_of_sets(lattices[0].sets, weight)
        found = least_sums(lattices, table, labels[:, None] * len(bias) + rivals, max_length)
        words = np.minimum(found.first[:, None] + np.arange(found.sums.shape[1]), max_length)
        added = (found.sums / np.sqrt(np.maximum(words, 1))[:, :, None]).min(axis=1)
    margins: Floats = added + bias[labels][:, None] - bias[rivals]
    return margins


_KNOWN: weakref.WeakKeyDictionary[ChoiceSets, tuple[Floats, Floats]] = weakref.WeakKeyDictionary()


def _least_of_sets(sets: ChoiceSets, weight: Floats) -> Floats:
    """For every set, the least of weight[label] - weight[rival] over its words, [sets, classes * classes].

    Sets only become more while texts are certified, so those that were met with these weights are kept.
    """
    known = _KNOWN.get(sets)
    if known is None or not np.array_equal(known[0], weight):
        known = weight, np.zeros((0, weight.shape[1] ** 2))
    ids, starts = sets.flat(len(known[1]))
    if len(starts):
        least = [np.minimum.reduceat((one[:, None] - weight)[ids], starts) for one in weight.T]
        known = weight, np.concatenate([known[1], np.concatenate(least, axis=1)])
    _KNOWN[sets] = known
    return known[1]


def _by_position(
    model: BagOfWords, lattices: Sequence[Lattice], labels: Ints, max_length: int, weight: Floats
) -> Floats:
    symbols = Symbols(lattices[0].sets, lambda ids: ids)
    found = []
    for lattice, label in zip(lattices, labels.tolist(), strict=True):
        steps = unrolled(lattice, max_length)
        reader = PositionReader.of(model, steps, label, weight)
        least = least_values(steps, symbols, reader)
        found.append(np.min([reader.of_length(value, words) for words, value in least.items()], axis=0))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class PositionReader:
    """A bag of words as a reader of one lattice; columns are rivals, times numbers of words.

    A history is the last word behind one that has the code of the word before it, or nothing where there are no
    features of neighbours. What a word adds is known when the next one is.
    """

    model: BagOfWords
    weight: Floats
    label: int
    rivals: Ints
    lengths: Ints
    factors: Floats
    """Of the position of each word in a text of each number of words, [positions, lengths]."""

    bits = BITS
    counted = 0
    read = np.empty(0, dtype=np.int64)

    @property
    def span(self) -> int:
        """Two words, or none."""
        return 2 if self.model.config.features else 0

    @property
    def columns(self) -> int:
        """Rivals, times numbers of words."""
        return len(self.rivals) * len(self.lengths)

    @staticmethod
    def of(model: BagOfWords, steps: Sequence[UnrolledLayer], label: int, weight: Floats) -> PositionReader:
        """The reader of one text."""
        lengths = lengths_of(steps)
        mask = torch.arange(len(steps)) < torch.from_numpy(lengths).unsqueeze(1)
        factors = model.factors(mask.to(model.bias.device)).detach().cpu().numpy().T
        rivals = rivals_of(np.array([label]), weight.shape[1])[0]
        return PositionReader(model, weight, label, rivals, lengths, factors)

    def of_length(self, value: Floats, words: int) -> Floats:
        """The columns of texts of so many words."""
        found: Floats = value.reshape(-1, len(self.lengths))[:, np.searchsorted(self.lengths, words)]
        return found

    def shortened(self, history: Ints) -> Ints:
        """Words that share a code are one word to the next."""
        before, last = history >> BITS, history & (1 << BITS) - 1
        found: Ints = self._first[self._codes[before]] << BITS | last
        return found

    def joined(self, value: Floats, history: Ints, symbol: Ints, kept: Ints, words: int) -> Floats:
        """With what the word before the new one adds, or the new one itself where neighbours do not count."""
        if not self.span:
            return self._added(value, self.weight, symbol, words)
        codes = self._codes
        return self._pending(value, history, codes[symbol], words)

    def ended(self, value: Floats, history: Ints, words: int) -> Floats:
        """With the last word."""
        return self._pending(value, history, np.zeros_like(history), words) if self.span else value

    def dropped(self, value: Floats, history: Ints) -> Floats:
        """Two words are affected: what the last one adds is not known, and the next one does not see what is before.

        No factor exceeds one.
        """
        heaviest = float((self.weight[:, [self.label]] - self.weight[:, self.rivals]).__abs__().max(initial=0.0))
        fewer: Floats = value - (1 + 3 * len(self.model.config.features)) * heaviest
        return fewer

    def _pending(self, value: Floats, history: Ints, after: Ints, words: int) -> Floats:
        """With the last word of each history, between the code before it and the one behind."""
        if not words:
            return value
        known, row = np.unique(np.stack([history, after]), axis=1, return_inverse=True)
        last, before = known[0] & (1 << BITS) - 1, self._codes[known[0] >> BITS]
        with torch.no_grad():
            parts = (torch.from_numpy(part).to(self.model.bias.device) for part in (last, before, known[1]))
            scores = self.model.score(*parts).cpu().numpy()
        scores[last == 0] = 0.0  # forgotten
        return self._added(value, scores, row.reshape(-1), words - 1)

    def _added(self, value: Floats, scores: Floats, row: Ints, position: int) -> Floats:
        margins = scores[:, [self.label]] - scores[:, self.rivals]
        gains = margins[:, :, None] * self.factors[position]
        found: Floats = value + gains.reshape(len(scores), self.columns)[row]
        return found

    @cached_property
    def _codes(self) -> Ints:
        found: Ints = self.model.codes.cpu().numpy()
        return found

    @cached_property
    def _first(self) -> Ints:
        """The first word of each code; padding for none."""
        found = np.zeros(int(self._codes.max()) + 1, dtype=np.int64)
        found[self._codes[::-1]] = np.arange(len(self._codes))[::-1]
        return found
