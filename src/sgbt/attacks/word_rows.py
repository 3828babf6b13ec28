"""WordRows: what a network's first layer makes of a word, found when the word is first met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
FIRST = 1024
"""Rows that are set aside at first; each time they do not suffice, twice as many."""


class WordRows:
    """Tables with one row per id met so far; row 0 is what padding, a zero vector, becomes.

    `project` turns ids into one matrix, whose columns are dealt out to tables of the given widths. Rows keep their
    numbers while tables grow.
    """

    def __init__(self, project: Callable[[Tensor], Tensor], widths: Sequence[int], padding: Tensor) -> None:
        self._project, self._widths = project, list(widths)
        self.tables: list[Array] = []
        for part in padding.detach().split(self._widths):
            table = np.zeros((FIRST, len(part)), part.numpy().dtype)
            table[0] = part.numpy()
            self.tables.append(table)
        self._met = 1
        self._row_of = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return self._met

    def meet(self, ids: Array) -> None:
        """Know all of the given ids."""
        distinct = np.unique(ids)
        if len(distinct) and distinct[-1] >= len(self._row_of):
            self._row_of = np.concatenate([self._row_of, np.zeros(distinct[-1] + 1 - len(self._row_of), np.int64)])
        new = distinct[self._row_of[distinct] == 0]
        if not len(new):
            return
        stop = self._met + len(new)
        while stop > len(self.tables[0]):
            self.tables = [np.concatenate([table, np.zeros_like(table)]) for table in self.tables]
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
