"""Parameter sharing, tied words: words that can replace each other share a part of what is learned of them.

Training on the worst case wants substitutes to be alike. With parameters of its own for every word, each step moves
only the worst word of each set, and a word that is rare in train hardly moves. So the parameters of a word are a sum:
(own part + a part for each cluster of the word) / sqrt(1 + levels), the clusters being communities of the substitution
graph at several resolutions (levels). Every value can still be reached, but equal values of substitutes cost the least
under an l2 penalty: that penalty is the prior that all values have variance 1, and two of them a covariance of the
number of levels that put their words together, over 1 + levels.

`TiedWords` ties the vectors of a network: value = start + shared parts, so weight decay moves a word towards its start
and its substitutes. `TiedWeights` ties the weights of a BagOfWords. Trained models have plain parameters.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

from sgbt.core.errors import TrainingError
from sgbt.models import BagOfWords, Network
from sgbt.models.bag_of_words.features import with_word, word_of
from sgbt.threats.codes import community_levels
from sgbt.training.loop.steps import Corpus


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
        apply: Callable[..., Tensor] = _Product.apply  # torch gives it no types
        return apply(parts, self.matrix, self.transposed)

    def to(self, device: torch.device) -> Ties:
        """The same on another device."""
        return Ties(self.matrix.to(device), self.transposed.to(device))


def tied_levels(corpus: Corpus, resolutions: Sequence[float]) -> np.ndarray:
    """The clusters whose words are tied, [levels, ids]; of a table so small that these leave every word by itself,
    those of one coarse level."""
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


class TiedVectors(nn.Module):
    """vectors = start + ties(parts): what the optimiser moves are the parts, which begin at zero."""

    start: Tensor
    matrix: Tensor
    transposed: Tensor

    def __init__(self, start: Tensor, ties: Ties) -> None:
        super().__init__()
        self.register_buffer("start", start, persistent=False)
        self.register_buffer("matrix", ties.matrix, persistent=False)
        self.register_buffer("transposed", ties.transposed, persistent=False)

    def forward(self, parts: Tensor) -> Tensor:
        """The vectors of all words, [words, width]."""
        return self.start + Ties(self.matrix, self.transposed).values(parts)

    def right_inverse(self, vectors: Tensor) -> Tensor:
        """The parts that training begins with."""
        return vectors.new_zeros(self.matrix.shape[1], vectors.shape[1])


@dataclass(frozen=True)
class TiedWords:
    """Words whose vectors are tied while a network trains, over clusters at these resolutions; none: no sharing."""

    resolutions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.resolutions
        listed = tuple(given) if isinstance(given, list | tuple) else (None,)  # JSON and TOML have lists
        object.__setattr__(self, "resolutions", listed)
        if not all(type(each) in (int, float) and 0 < each < math.inf for each in listed):
            raise TrainingError(expected="a list of numbers above 0, all finite", got=repr(given), where="tied_words")

    def __bool__(self) -> bool:
        return bool(self.resolutions)

    def check(self, model: Network) -> None:
        """Refuse a network whose vectors do not move."""
        if self and not model.embedding.weight.requires_grad:
            raise TrainingError(
                expected="an embedding that is trained, for vectors that are tied",
                got="a frozen one",
                where="tied_words",
                remedy="set trainable_embedding, or leave tied_words out",
            )

    def clusters(self, corpus: Corpus) -> np.ndarray | None:
        """The clusters whose words are tied, [levels, ids]; None where there is no sharing."""
        return tied_levels(corpus, self.resolutions) if self else None


@contextlib.contextmanager
def tied(model: Network, clusters: np.ndarray | None) -> Iterator[None]:
    """The model's vectors are tied over clusters [levels, words], and plain again afterwards; None: not tied."""
    if clusters is None:
        yield
        return
    embedding, levels = model.embedding, torch.from_numpy(clusters)
    words = torch.arange(levels.shape[1])
    ties = Ties.of(len(words), [Members(words, level) for level in levels], embedding.weight.dtype)
    start = embedding.weight.detach().clone()
    vectors = TiedVectors(start, ties.to(start.device))
    parametrize.register_parametrization(embedding, "weight", vectors, unsafe=True)  # unsafe: another shape
    try:
        yield
    finally:
        parametrize.remove_parametrizations(embedding, "weight", leave_parametrized=True)
        embedding.weight.grad = None  # it was that of the parts


@dataclass(frozen=True, slots=True, eq=False)
class TiedWeights:
    """The weights of all features from the parts that the optimiser moves.

    `vectors` [words, width] are further columns, of single words, which come first among the features.
    """

    ties: Ties
    vectors: Tensor | None = None

    @property
    def parts(self) -> int:
        """How many numbers the optimiser moves for each class."""
        return self.ties.parts + (0 if self.vectors is None else self.vectors.shape[1])

    @staticmethod
    def of(model: BagOfWords, communities: Tensor, vectors: Tensor | None = None) -> TiedWeights:
        """From the community of every word at each level, [levels, words], and what vectors say of words.

        Two features share a part when their words share a community and all else is equal. Features of codes alone
        are always by themselves: nothing replaces them.
        """
        size = len(model.codes)
        word = torch.cat([torch.arange(size), word_of(model.keys)])
        reads = (word >= 0).nonzero().squeeze(1)
        keyed = reads[reads >= size]
        levels = [
            Members(reads, torch.cat([community, with_word(model.keys[keyed - size], community[word[keyed]])]))
            for community in communities
        ]
        return TiedWeights(Ties.of(len(model.weight), levels, model.weight.dtype), vectors)

    def weights(self, parts: Tensor) -> Tensor:
        """The weights of all features, [features, classes]."""
        own = self.ties.parts
        result = self.ties.values(parts[:own])
        if self.vectors is None:
            return result
        of_vectors = self.vectors @ parts[own:]
        return result + F.pad(of_vectors, (0, 0, 0, len(result) - len(of_vectors)))
