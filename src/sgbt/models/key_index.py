"""Where keys stand in a sorted list of them: a hash table of places, made once for a list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_words.features import places_of

FACTOR = np.int64(-7046029254386353131)
"""Odd, about 2^64 divided by the golden ratio: the highest bits of its products spread keys evenly."""


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """The places of sorted distinct keys, two to four slots for each.

    A slot has the place of one key that falls there, and `shared` says whether another does: then, where the slot's key
    is not the one asked for, it is sought in the list.
    """

    keys: Tensor
    written: int
    table: np.ndarray
    shared: np.ndarray

    @staticmethod
    def of(keys: Tensor) -> KeyIndex:
        """The index of keys on this machine's memory."""
        places = np.arange(len(keys), dtype=np.int32)
        bits = max(len(keys).bit_length() + 1, 8)
        slots = _slots(keys.numpy(), bits)
        table = np.zeros(1 << bits, dtype=np.int32)
        table[slots] = places
        shared = np.zeros(1 << bits, dtype=bool)
        shared[slots[table[slots] != places]] = True
        return KeyIndex(keys, keys._version, table, shared)

    def still_of(self, keys: Tensor) -> bool:
        """Whether these are the keys that it was made of, and nothing was written to them since."""
        return self.keys is keys and keys._version == self.written

    def places(self, keys: np.ndarray) -> np.ndarray:
        """The place of each key, -1 for one that is not listed."""
        listed = self.keys.numpy()
        if not len(listed):
            return np.full(len(keys), -1, dtype=np.int64)
        slots = _slots(keys, len(self.table).bit_length() - 1)
        found = self.table[slots]
        here = listed[found] == keys
        places = np.where(here, found, -1).astype(np.int64, copy=False)
        rest = np.flatnonzero(self.shared[slots] & ~here)
        if len(rest):
            places[rest] = places_of(self.keys, torch.from_numpy(keys[rest])).numpy()
        return places


def _slots(keys: np.ndarray, bits: int) -> np.ndarray:
    product: np.ndarray = (keys * FACTOR).view(np.uint64) >> np.uint64(64 - bits)
    return product.view(np.int64)
