"""PrefixTree: texts that begin alike, read together for as long as they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTree:
    """The branches of a tree of beginnings, in the order in which they leave another one.

    Branch j reads `texts[j]` from word `starts[j]` on; until then it was one with branch `parents[j]`, which left its
    own parent earlier (-1: there was nothing to read before). `branch_of` finds the branch of each text as given.
    """

    texts: Array
    starts: Array
    parents: Array
    branch_of: Array

    @staticmethod
    def of(texts: Array) -> PrefixTree:
        """From texts [texts, words] of whole numbers below 2^31, at least one of each.

        Sorted, texts with a common beginning are neighbours. Where text j first differs from its forerunner, it leaves
        the branch that was being read there: the last one before it that had left its own parent earlier.
        """
        packed = np.ascontiguousarray(texts, np.int32)
        keys = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).ravel()
        order = np.argsort(keys, kind="stable")
        ordered = packed[order]
        differs = ordered[1:] != ordered[:-1]
        first = np.where(differs.any(axis=1), differs.argmax(axis=1), texts.shape[1])
        starts = np.concatenate([[0], first])
        forerunners = np.asarray(_last_smaller(starts.tolist()))
        distinct = np.flatnonzero(starts < texts.shape[1])
        rank = np.argsort(starts[distinct], kind="stable")
        branch = np.full(len(order) + 1, -1)  # the last entry stands for the branch -1
        branch[distinct[rank]] = np.arange(len(distinct))
        same = np.flatnonzero(starts == texts.shape[1])
        branch[same] = branch[forerunners[same]]
        chosen = distinct[rank]
        branch_of = np.empty(len(order), np.int64)
        branch_of[order] = branch[:-1]
        return PrefixTree(ordered[chosen], starts[chosen], branch[forerunners[chosen]], branch_of)


def _last_smaller(values: Sequence[int]) -> list[int]:
    """For each value, the place of the last smaller one before it, or -1."""
    found, open_places = [], [-1]
    for place, value in enumerate(values):
        while len(open_places) > 1 and values[open_places[-1]] >= value:
            open_places.pop()
        found.append(open_places[-1])
        open_places.append(place)
    return found
