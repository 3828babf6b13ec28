"""Where the weight of a run stands, and whether a listed run begins with it: what begins none is not looked up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_words.features import places_of
from sgbt.models.key_index import KeyIndex

BEGINS, NOTHING = -1, -2
"""In place of a place: the run has no weight but a listed one begins with it, or none does."""


@dataclass(frozen=True, eq=False)
class RunIndex:
    """An index of listed runs and of all that they begin with; `own` is the place of each among the listed ones."""

    keys: Tensor
    written: int
    known: KeyIndex
    own: np.ndarray

    @staticmethod
    def of(keys: Tensor, beginnings: Tensor) -> RunIndex:
        """The index of listed runs, and of the keys of what they begin with."""
        known = torch.cat([keys, beginnings]).unique()
        own = places_of(keys, known).clamp(min=BEGINS).numpy()
        return RunIndex(keys, keys._version, KeyIndex.of(known), np.append(own, NOTHING))

    def still_of(self, keys: Tensor) -> bool:
        """Whether these are the keys that it was made of, and nothing was written to them since."""
        return self.keys is keys and keys._version == self.written

    def places(self, keys: np.ndarray) -> np.ndarray:
        """The place of each run among the listed ones, `BEGINS` or `NOTHING`."""
        found: np.ndarray = self.own[self.known.places(keys)]  # -1, for what is not known, is the last
        return found
