"""What a run of codes is credited with: by each slot that can hold it, and at most while it is unfinished."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS

BUFFER = 1 << 22


class Holders:
    """The number of slots that can hold each (text, run), counted step by step. A pair is one whole number."""

    def __init__(self) -> None:
        self._new: list[Tensor] = []
        self._waiting = 0
        self.pairs = torch.zeros(0, dtype=torch.int64)
        self.counts = torch.zeros(0, dtype=torch.int64)

    def add(self, pairs: Tensor) -> None:
        """A pair for each further slot that can hold the run in the text."""
        self._new.append(pairs)
        self._waiting += len(pairs)
        if self._waiting > BUFFER:
            self.close()

    def close(self) -> None:
        """Count what was added."""
        listed = torch.cat([self.pairs, *self._new])
        counts = torch.cat([self.counts, torch.ones(self._waiting, dtype=torch.int64)])
        self.pairs, where = listed.unique(return_inverse=True)
        self.counts = torch.zeros(len(self.pairs), dtype=torch.int64).index_add(0, where, counts)
        self._new, self._waiting = [], 0

    def of(self, pairs: Tensor) -> Tensor:
        """The count of every pair; each was added."""
        return self.counts[torch.searchsorted(self.pairs, pairs)]


def credited(margins: Tensor, holders: Tensor) -> Tensor:
    """What one slot adds to the rival's lead by a run that `holders` slots can hold: what helps the label is shared."""
    return torch.maximum(margins, margins / holders)


def most_of_unfinished(
    keys: Tensor, weight: Tensor, histories: Tensor, labels: Tensor, *, longest: int, number: int, ending: bool
) -> Tensor:
    """An upper bound of what the runs that begin within a history and end behind it add to (logit k - logit of the
    label), [histories, classes].

    `histories` are packed codes, the last one lowest, zero beyond the beginning of a text; `number` is the map's, in
    the place of its bits. For each beginning and each length it takes the greatest weight of all listed runs that go on
    so, or zero: they are neighbours in the sorted list of keys.
    """
    total = weight.new_zeros(len(histories), weight.shape[1])
    for known in range(1, longest):
        begun = histories & (1 << BITS * known) - 1
        real = begun >> BITS * (known - 1) > 0
        for length in range(known + 1, longest + 1):
            missing = BITS * (length - known)
            for mark in (0, AT_THE_END)[: 1 + ending]:
                lowest = begun << missing | mark | number
                start, stop = torch.searchsorted(keys, lowest), torch.searchsorted(keys, lowest + (1 << missing))
                some = (real & (stop > start)).nonzero().squeeze(1)
                total[some] += _greatest_between(weight, start[some], stop[some], labels[some])
    return total


def _greatest_between(weight: Tensor, start: Tensor, stop: Tensor, labels: Tensor) -> Tensor:
    """The greatest (weight of k - weight of the label), or zero, of the rows from start to stop: [ranges, classes].

    Ranges are not empty, and any two are the same or have no row in common.
    """
    found = weight.new_zeros(len(start), weight.shape[1])
    for label in labels.unique().tolist():
        chosen = labels == label
        firsts, where = start[chosen].unique(return_inverse=True)
        lasts = torch.zeros_like(firsts).scatter(0, where, stop[chosen])
        leads = (weight - weight[:, label : label + 1]).numpy()
        leads = np.concatenate([leads, np.zeros((1, weight.shape[1]), leads.dtype)])  # the last range may end there
        edges = torch.stack([firsts, lasts], dim=1).flatten().numpy()
        found[chosen] = torch.from_numpy(np.maximum.reduceat(leads, edges)[::2])[where]
    return found.clamp(min=0)
