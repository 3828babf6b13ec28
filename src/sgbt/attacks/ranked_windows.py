"""RankedWindows: the greatest values, or the sums, over all windows but a few, by looking up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
RANKS = 16
"""How many of a filter's greatest windows are known in order; where all of them are left out, the rest is searched."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedWindows:
    """Values [windows, filters]; row r of `order` names, for every filter, its r-th greatest window."""

    values: Array
    order: Array
    mean: bool

    @staticmethod
    def of(values: Array, *, mean: bool) -> RankedWindows:
        """Rank the windows of every filter; sums need no ranks."""
        if mean:
            return RankedWindows(values, np.zeros((0, values.shape[1]), np.int64), mean)
        ascending = np.ascontiguousarray(values.T)
        ranks = min(RANKS, len(values))
        places = np.argpartition(ascending, len(values) - ranks, axis=1)[:, len(values) - ranks :]
        sizes = np.take_along_axis(ascending, places, axis=1)
        order = np.take_along_axis(places, np.argsort(-sizes, axis=1, kind="stable"), axis=1)
        return RankedWindows(values, np.ascontiguousarray(order.T), mean)

    def outside(self, left_out: Array) -> Array:
        """For each row of a mask [rows, windows], the values pooled over the windows that are not left out.

        Where a filter's greatest window is left out, the next one counts, and so on.
        """
        if self.mean:
            kept: Array = (~left_out).astype(self.values.dtype) @ self.values
            return kept
        filters = np.arange(self.values.shape[1])
        result = np.repeat(self.values[self.order[0], filters][None], len(left_out), axis=0)
        rows, columns = np.nonzero(left_out[:, self.order[0]])
        for rank in self.order[1:]:
            if not len(rows):
                return result
            windows = rank[columns]
            result[rows, columns] = self.values[windows, columns]
            still = left_out[rows, windows]
            rows, columns = rows[still], columns[still]
        if len(rows):
            searched = np.where(left_out[rows], -np.inf, self.values.T[columns])
            result[rows, columns] = searched.max(axis=1)
        return result
