"""Where keys stand in a sorted list of them: a hash table of places, made once for a list.

For n-grams it also says whether a listed one begins with a key: what begins none is not looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_words.features import places_of

FACTORS = tuple(map(np.int64, (-7046029254386353131, -4417276706812531889, 1609587929392839161)))
"""Odd, without small structure: the highest bits of products with one of them spread keys evenly."""


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """The places of sorted distinct keys, two to four slots for each.

    A slot has the place of one key that falls there, and `shared` says whether another does: then, where the slot's key
    is not the one asked for, it is sought in `rest`, the index of the keys that had to make room, and behind the last
    factor in the list.
    """

    keys: Tensor
    written: int
    factor: np.int64
    table: np.ndarray
    shared: np.ndarray
    rest: KeyIndex | None
    moved: np.ndarray

    @staticmethod
    def of(keys: Tensor, factors: tuple[np.int64, ...] = FACTORS) -> KeyIndex:
        """The index of keys on this machine's memory; `moved` are the places of the keys of `rest`."""
        factor, *more = factors
        places = np.arange(len(keys), dtype=np.int32)
        bits = max(len(keys).bit_length() + 1, 8)
        slots = _slots(keys.numpy(), factor, bits)
        table = np.zeros(1 << bits, dtype=np.int32)
        table[slots] = places
        moved = np.flatnonzero(table[slots] != places)
        shared = np.zeros(1 << bits, dtype=bool)
        shared[slots[moved]] = True
        rest = KeyIndex.of(keys[torch.from_numpy(moved)], tuple(more)) if more and len(moved) else None
        return KeyIndex(keys, keys._version, factor, table, shared, rest, np.append(moved, -1))

    def still_of(self, keys: Tensor) -> bool:
        """Whether these are the keys that it was made of, and nothing was written to them since."""
        return self.keys is keys and keys._version == self.written

    def places(self, keys: np.ndarray) -> np.ndarray:
        """The place of each key, -1 for one that is not listed."""
        listed = self.keys.numpy()
        if not len(listed):
            return np.full(len(keys), -1, dtype=np.int64)
        slots = _slots(keys, self.factor, len(self.table).bit_length() - 1)
        found = self.table[slots]
        here = listed[found] == keys
        places = np.where(here, found, -1).astype(np.int64, copy=False)
        left = np.flatnonzero(self.shared[slots] & ~here)
        if not len(left):
            return places
        if self.rest is not None:
            places[left] = self.moved[self.rest.places(keys[left])]
        else:
            places[left] = places_of(self.keys, torch.from_numpy(keys[left])).numpy()
        return places


def _slots(keys: np.ndarray, factor: np.int64, bits: int) -> np.ndarray:
    product: np.ndarray = (keys * factor).view(np.uint64) >> np.uint64(64 - bits)
    return product.view(np.int64)


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
