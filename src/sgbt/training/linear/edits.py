"""What the worst edits of a text cost an n-gram model, one by one: runs that an edit breaks, and words that it brings.

An edit of a word takes along all runs of two words or more that cover its place, and in place of the word itself stands
the worst of what the edit makes of it (`Drops`). A run that a text has twice is not lost with one place. Runs with an
unknown word have no weight in a model that is trained so (`known_runs`). Not counted are runs that an edit brings, and
how edits meet; proofs count all of it (`sgbt.certify.edits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds
from sgbt.models.bag_of_ngrams.margins import LabelGrams
from sgbt.models.bag_of_ngrams.model import BITS, LARGEST, LONGEST, MAP_SHIFT
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.worst_case import Margins
from sgbt.threats.vocabulary import UNKNOWN
from sgbt.training.drops import Drops


def known_runs(keys: Tensor) -> Tensor:
    """The keys of runs without an unknown word."""
    unknown = torch.zeros_like(keys, dtype=torch.bool)
    for place in range(LONGEST):
        unknown |= keys >> place * BITS & LARGEST - 1 == UNKNOWN
    return keys[~unknown]


@dataclass(frozen=True, eq=False)
class RunsOfPlaces:
    """The runs of some texts of one label: `features[m][s][p]` is that of map m with s + 2 words from place p on.

    Places of all texts stand one behind another; -1 is no run, or one that its text has more than once.
    """

    label: int
    texts: int
    text: Tensor
    ids: Tensor
    words: tuple[Tensor, ...]
    """Of every map the feature of each id's own code, -1 where there is none."""
    features: tuple[tuple[Tensor, ...], ...]

    @staticmethod
    def of(
        rows: RaggedIds, chosen: np.ndarray, label: int, codes: Sequence[Tensor], keys: Tensor, *, longest: int
    ) -> RunsOfPlaces:
        """Those of the chosen texts, in that order."""
        lengths = rows.lengths[chosen]
        ids = torch.from_numpy(np.concatenate([np.zeros(0, dtype=np.int64), *(rows[at] for at in chosen.tolist())]))
        text = torch.from_numpy(np.repeat(np.arange(len(chosen)), lengths))
        found = []
        for number, own in enumerate(codes):
            key = own[ids]
            runs, by_size = key, []
            for size in range(2, longest + 1):
                whole = torch.zeros_like(key)
                joined = runs[: len(key) - size + 1] << BITS | key[size - 1 :]
                inside = (text[: len(key) - size + 1] == text[size - 1 :]) & (runs[: len(key) - size + 1] > 0)
                whole[: len(key) - size + 1] = torch.where(inside, joined, 0)
                runs = whole
                by_size.append(whole)
            listed = (places_of(keys, each | number << MAP_SHIFT).masked_fill(each == 0, -1) for each in by_size)
            found.append(tuple(_once(each, text, len(keys)) for each in listed))
        words = tuple(places_of(keys, own | number << MAP_SHIFT) for number, own in enumerate(codes))
        return RunsOfPlaces(label, len(chosen), text, ids, words, tuple(found))

    def lost(self, weight: Tensor, drops: Sequence[Drops]) -> Tensor:
        """By how much (logit k - logit of the label) rises by the worst edits of each kind, [texts, classes]."""
        columns = []
        for rival in range(weight.shape[1]):
            lead = torch.cat([weight[:, self.label] - weight[:, rival], weight.new_zeros(1)])
            broken = lead.new_zeros(len(self.text))
            for sizes in self.features:
                for size, features in enumerate(sizes, start=2):
                    own = lead[features]
                    for offset in range(size):  # a run covers the places from its first to its last word
                        broken = broken + torch.nn.functional.pad(own, (offset, 0))[: len(own)]
            leads = torch.stack([lead[own] for own in self.words]).sum(dim=0).unsqueeze(1)
            column = weight.new_zeros(self.texts)
            for kind in drops:
                drop = broken + kind.taken(leads).squeeze(1)[self.ids]
                chosen = self._largest(drop.detach(), kind.at_most or 0)
                column = column.index_add(0, self.text[chosen], drop[chosen].clamp(min=0))
            columns.append(column)
        return torch.stack(columns, dim=1)

    def _largest(self, drop: Tensor, words: int) -> Tensor:
        """The places of the largest drops of every text."""
        order = torch.from_numpy(np.lexsort((-drop.numpy(), self.text.numpy())))
        of = self.text[order]
        first = torch.searchsorted(of, of)
        return order[torch.arange(len(order)) - first < words]


def _once(feature: Tensor, text: Tensor, features: int) -> Tensor:
    """The features, -1 for those that a text has more than once."""
    listed = (feature >= 0).nonzero().squeeze(1)
    pair = text[listed] * features + feature[listed]
    _, which, counts = pair.unique(return_inverse=True, return_counts=True)
    found = feature.clone()
    found[listed[counts[which] > 1]] = -1
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Edited:
    """The n-grams of texts of one label, with the worst edits in their worst case."""

    grams: LabelGrams
    places: RunsOfPlaces
    drops: Sequence[Drops]

    @property
    def label(self) -> int:
        """Of all texts."""
        return self.grams.label

    @property
    def texts(self) -> int:
        """How many there are."""
        return self.grams.texts

    def document_counts(self, features: int) -> Tensor:
        """How many texts have each feature."""
        return self.grams.document_counts(features)

    def margins(self, weight: Tensor, bias: Tensor, *, smooth: float = 0.0) -> Margins:
        """Those of the n-grams, the worst case so much worse."""
        found = self.grams.margins(weight, bias, smooth=smooth)
        return Margins(found.clean, found.worst + self.places.lost(weight, self.drops))
