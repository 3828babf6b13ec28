"""Weights tied over the substitution graph: what one word learns, the words it can be replaced by learn with it.

Training on the worst case wants the weights of substitutes close to each other. With one free number per word, each
step moves only the worst word of each set, and they get there slowly, one overtaking the other; a word that train has
seldom gets there never. So a weight is written as a sum: w = (own part + a part for each community of its word) /
sqrt(1 + levels), the communities being those of the substitution graph at several resolutions (levels), coarse to fine.
Every w can still be reached, but equal weights of substitutes now cost the least under an l2 penalty: that penalty is
the prior that all weights have variance 1, and two of them a covariance of the number of levels that put their words
together, over 1 + levels.

Where word vectors are given (`sgbt.training.bag_vectors`), a linear function of the vector of a word's community is
added to its weight: what words that are used alike have in common need not be learned for each of them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import LinearBag
from sgbt.models.bag_features import with_word, word_of


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """w = matrix @ v: the weights of all features from the parts that the optimiser moves, own parts first.

    `matrix` is sparse, [features, parts], `transposed` the same with rows and columns exchanged. `vectors` [words,
    width] are further columns, of words alone, which come first among the features.
    """

    matrix: Tensor
    transposed: Tensor
    vectors: Tensor | None = None

    @property
    def parts(self) -> int:
        """How many numbers the optimiser moves for each class."""
        return self.matrix.shape[1] + (0 if self.vectors is None else self.vectors.shape[1])

    @staticmethod
    def of(model: LinearBag, communities: Tensor, vectors: Tensor | None = None) -> Ties:
        """From the community of every word at each level, [levels, words], and what vectors say of words.

        Two features share a part when their words share a community and all else is equal. A feature that is alone at
        a level (so are all features of codes alone: nothing replaces them) has that level's variance in its own part.
        """
        size, features = len(model.codes), len(model.weight)
        word = torch.cat([torch.arange(size), word_of(model.keys)])
        reads = (word >= 0).nonzero().squeeze(1)
        keyed = reads[reads >= size]
        own = torch.full((features,), 1.0 + len(communities), dtype=torch.float64)
        rows, columns, parts = [torch.arange(features)], [torch.arange(features)], features
        for community in communities:
            labels = torch.cat([community, with_word(model.keys[keyed - size], community[word[keyed]])])
            _, group, counts = labels.unique(return_inverse=True, return_counts=True)
            shared = counts > 1
            number = shared.cumsum(0) - 1
            together = shared[group]
            own[reads[together]] -= 1
            rows.append(reads[together])
            columns.append(parts + number[group[together]])
            parts += int(shared.sum())
        share = (1 + len(communities)) ** -0.5
        values = torch.cat([own.sqrt(), torch.ones(sum(map(len, rows[1:])), dtype=torch.float64)]) * share
        row, column, values = torch.cat(rows), torch.cat(columns), values.to(model.weight.dtype)
        there, back = _sparse(row, column, values, (features, parts)), _sparse(column, row, values, (parts, features))
        return Ties(there, back, vectors)

    def weights(self, parts: Tensor) -> Tensor:
        """The weights of all features, [features, classes]."""
        own = self.matrix.shape[1]
        result: Tensor = _Product.apply(parts[:own], self.matrix, self.transposed)
        if self.vectors is None:
            return result
        told = self.vectors @ parts[own:]
        return result + F.pad(told, (0, 0, 0, len(result) - len(told)))


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
