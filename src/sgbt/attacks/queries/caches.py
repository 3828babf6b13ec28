"""What is computed once and looked up: rows of words, windows by what stands in them, windows in order of size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class WordRows:
    """A table with one row per id met so far; row 0 is what padding, a zero vector, becomes.

    `project` turns ids into rows. There is room for all `ids`, but memory that was never written to costs nothing.
    """

    def __init__(self, project: Callable[[Tensor], Tensor], padding: Tensor, *, ids: int) -> None:
        self._project = project
        first = padding.detach().numpy()
        self.table: Array = np.empty((ids + 1, len(first)), first.dtype)
        self.table[0] = first
        self._met = 1
        self._row_of = np.zeros(ids, np.int64)

    def meet(self, ids: Array) -> None:
        """Know all of the given ids."""
        distinct = np.unique(ids)
        new = distinct[self._row_of[distinct] == 0]
        if len(new):
            stop = self._met + len(new)
            with torch.no_grad():
                self.table[self._met : stop] = self._project(torch.from_numpy(new)).numpy()
            self._row_of[new] = np.arange(self._met, stop)
            self._met = stop

    def rows(self, ids: Array) -> Array:
        """The rows of ids that were met before."""
        found: Array = self._row_of[ids]
        return found


FIRST, MOST = 1024, 16384
"""Rows that are set aside at first, and rows at which everything is forgotten, so that memory stays small."""


class WindowPool:
    """Values [windows, filters] by key. Row 0 is a window that does not exist, which pooling leaves out."""

    def __init__(self, nothing: Array) -> None:
        self.values = np.empty((FIRST, len(nothing)), nothing.dtype)
        self.values[0] = nothing
        self._row_of: dict[int, int] = {}

    def forget(self) -> None:
        """Forget all windows."""
        self._row_of.clear()

    def rows(self, keys: Array, compute: Callable[[Array], Array]) -> Array:
        """The row of every key; `compute` gives the values of those that are new, by their places among the keys."""
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(self._row_of) + len(distinct) > MOST:
            self.forget()
        get = self._row_of.get
        found = np.fromiter((get(key, 0) for key in distinct.tolist()), np.int64, len(distinct))
        new = np.flatnonzero(found == 0)
        if len(new):
            start = len(self._row_of) + 1
            found[new] = np.arange(start, start + len(new))
            while start + len(new) > len(self.values):
                self.values = np.concatenate([self.values, np.empty_like(self.values)])
            self.values[start : start + len(new)] = compute(first[new])
            self._row_of.update(zip(distinct[new].tolist(), found[new].tolist(), strict=True))
        rows: Array = found[which.reshape(-1)]
        return rows


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
