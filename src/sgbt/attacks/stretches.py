"""Stretches: the greatest values, or the sums, over any stretch of windows, by looking up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Values [windows, filters], prepared for questions about stretches of windows.

    For maxima, level j holds the greatest over 2^j windows from each one on, so the greatest over any stretch is the
    greater of two entries. For sums, the whole less what is left out serves.
    """

    levels: tuple[Array, ...]
    mean: bool

    @staticmethod
    def of(values: Array, *, mean: bool) -> Stretches:
        """All levels; a sum needs only the first."""
        levels = [values]
        while not mean and 2 ** len(levels) <= len(values):
            last, half = levels[-1], 2 ** (len(levels) - 1)
            levels.append(np.maximum(last[:-half], last[half:]))
        return Stretches(tuple(levels), mean)

    def outside(self, left_out: Array) -> Array:
        """For each row of a mask [rows, windows], the values pooled over the windows that are not left out."""
        values = self.levels[0]
        if self.mean:
            kept: Array = (~left_out).astype(values.dtype) @ values
            return kept
        result = np.full((len(left_out), values.shape[1]), -np.inf, values.dtype)
        edges = np.diff(np.pad(~left_out, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        owners, starts = np.nonzero(edges == 1)
        stops = np.nonzero(edges == -1)[1]
        level = np.frexp((stops - starts).astype(np.float64))[1] - 1
        for owner, start, stop, depth in zip(owners, starts, stops, level, strict=True):
            table = self.levels[depth]
            np.maximum(result[owner], table[start], out=result[owner])
            np.maximum(result[owner], table[stop - 2 ** int(depth)], out=result[owner])
        return result
