"""Ties: what one word learns, the words it can be replaced by learn with it.

Training on the worst case wants substitutes to be alike. With numbers of its own for every word, each step moves only
the worst word of each set, and they get there slowly, one overtaking the other; a word that train has seldom gets there
never. So what is learned of a word is written as a sum: (own part + a part for each community of the word) /
sqrt(1 + levels), the communities being those of the substitution graph at several resolutions (levels), coarse to fine.
Every value can still be reached, but equal values of substitutes now cost the least under an l2 penalty: that penalty
is the prior that all values have variance 1, and two of them a covariance of the number of levels that put their words
together, over 1 + levels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgbt.lexicon.codes import community_levels
from sgbt.training.objective import Corpus


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Some rows, and the number of the group that each belongs to at one level."""

    rows: Tensor
    groups: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """values = matrix @ parts: one row of values from the parts that the optimiser moves, own parts first.

    `matrix` is sparse, [rows, parts], `transposed` the same with rows and columns exchanged.
    """

    matrix: Tensor
    transposed: Tensor

    @property
    def parts(self) -> int:
        """How many rows the optimiser moves."""
        return int(self.matrix.shape[1])

    @staticmethod
    def of(rows: int, levels: Sequence[Members], dtype: torch.dtype = torch.float32) -> Ties:
        """From the groups of every level. A row that is alone at a level has that level's variance in its own part."""
        own = torch.full((rows,), 1.0 + len(levels), dtype=torch.float64)
        row, column, parts = [torch.arange(rows)], [torch.arange(rows)], rows
        for level in levels:
            _, group, counts = level.groups.unique(return_inverse=True, return_counts=True)
            shared = counts > 1
            number = shared.cumsum(0) - 1
            together = shared[group]
            own[level.rows[together]] -= 1
            row.append(level.rows[together])
            column.append(parts + number[group[together]])
            parts += int(shared.sum())
        share = (1 + len(levels)) ** -0.5
        values = torch.cat([own.sqrt(), torch.ones(sum(map(len, row[1:])), dtype=torch.float64)]) * share
        there, back, values = torch.cat(row), torch.cat(column), values.to(dtype)
        return Ties(_sparse(there, back, values, (rows, parts)), _sparse(back, there, values, (parts, rows)))

    def values(self, parts: Tensor) -> Tensor:
        """All rows of values, [rows, numbers], from the parts [parts, numbers]."""
        result: Tensor = _Product.apply(parts, self.matrix, self.transposed)
        return result

    def to(self, device: torch.device) -> Ties:
        """The same on another device."""
        return Ties(self.matrix.to(device), self.transposed.to(device))


def tied_levels(corpus: Corpus, resolutions: Sequence[float]) -> np.ndarray:
    """The communities whose words are tied, [levels, ids]; of a table so small that these leave every word alone, those
    of one coarse level."""
    assert corpus.table is not None, "without substitutes there is nothing to tie"
    words = (corpus.vocabulary, corpus.table, corpus.counts)
    levels = community_levels(*words, resolutions=resolutions)
    if (levels == np.arange(levels.shape[1])).all():
        levels = community_levels(*words, resolutions=(1.0,))
    return levels


class _Product(torch.autograd.Function):
    """A product with a sparse matrix whose transpose is at hand: the way back is as quick as the way there."""

    @staticmethod
    def forward(context: Any, parts: Tensor, matrix: Tensor, transposed: Tensor) -> Tensor:
        context.transposed = transposed
        return matrix @ parts

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return context.transposed @ gradients[0], None, None


def _sparse(rows: Tensor, columns: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(rows, minlength=size[0]).cumsum(0)])
    order = torch.argsort(rows * size[1] + columns)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts.int(), columns[order].int(), values[order], size, check_invariants=False)
