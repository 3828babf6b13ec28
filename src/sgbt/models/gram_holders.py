"""How many slots of a text can hold a run, and what one of them is credited with for it."""

from __future__ import annotations

import torch
from torch import Tensor

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
