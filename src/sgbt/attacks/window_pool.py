"""WindowPool: windows that were computed once, found again by what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
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
