"""WordRows: what a network's first layer makes of a word, found when the word is first met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class WordRows:
    """Tables with one row per id met so far; row 0 is what padding, a zero vector, becomes.

    `project` turns ids into one matrix, whose columns are dealt out to tables of the given widths. There is room for
    all `ids`, but memory that was never written to costs nothing.
    """

    def __init__(
        self, project: Callable[[Tensor], Tensor], widths: Sequence[int], padding: Tensor, *, ids: int
    ) -> None:
        self._project, self._widths = project, list(widths)
        parts = [part.numpy() for part in padding.detach().split(self._widths)]
        self.tables: list[Array] = [np.empty((ids + 1, len(part)), part.dtype) for part in parts]
        for table, part in zip(self.tables, parts, strict=True):
            table[0] = part
        self._met = 1
        self._row_of = np.zeros(ids, np.int64)

    def meet(self, ids: Array) -> None:
        """Know all of the given ids."""
        distinct = np.unique(ids)
        new = distinct[self._row_of[distinct] == 0]
        if not len(new):
            return
        stop = self._met + len(new)
        with torch.no_grad():
            parts = self._project(torch.from_numpy(new)).split(self._widths, dim=1)
        for table, part in zip(self.tables, parts, strict=True):
            table[self._met : stop] = part.numpy()
        self._row_of[new] = np.arange(self._met, stop)
        self._met = stop

    def rows(self, ids: Array) -> Array:
        """The rows of ids that were met before."""
        found: Array = self._row_of[ids]
        return found
