"""BiLSTM, asked about many variants of one text.

Input projections of every word that can occur are found once. Variants that begin alike share their forward states as
far as they agree, and variants that end alike share their backward states: the variants, sorted, are a tree, and each
of its nodes is computed once. One-word changes are the simplest case, and whole populations profit in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sgbt.attacks.engine import Neighbourhood, Swaps
from sgbt.models import BiLSTM

Array = NDArray[Any]
ROWS = 4096
"""Texts that are read at once: enough to fill the processor, few enough to stay in its cache."""


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTree:
    """Texts sorted so that those with a common beginning are neighbours.

    Row j of `texts` agrees with row j - 1 on its first `agreement[j]` words, and on no more; so it is the first to read
    its own beginning of t + 1 words exactly if agreement[j] <= t. `row_of` finds each text as it was given.
    """

    texts: Array
    agreement: Array
    row_of: Array

    @staticmethod
    def of(texts: Array) -> PrefixTree:
        """From texts [texts, words] of whole numbers."""
        packed = np.ascontiguousarray(texts.astype(np.int32))
        keys = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).ravel()
        order = np.argsort(keys, kind="stable")
        texts = packed[order]
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))
        differs = texts[1:] != texts[:-1]
        first = np.where(differs.any(axis=1), differs.argmax(axis=1), texts.shape[1])
        return PrefixTree(texts, np.concatenate([[0], first]), row_of)


class FastBiLSTM:
    """A BiLSTM over a list of distinct words, for texts of one length."""

    @torch.no_grad()
    def __init__(self, model: BiLSTM, distinct: Array, length: int) -> None:
        self._length = length
        self._mean = model.config.pooling == "mean"
        vectors = model.embedding(model.embedding.encode(torch.from_numpy(distinct)))
        vectors = torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])])  # the last row is padding
        self._directions = [Direction.of(lstm, vectors) for lstm in (model.forwards, model.backwards)]
        self._head, self._head_bias = model.head.weight.t().contiguous().numpy(), model.head.bias.numpy()

    def logits(self, places: Array) -> Array:
        """Logits [texts, labels] of texts in full."""
        if not self._length:  # a text without words is read as one zero vector
            places = np.full((len(places), 1), -1)
        pieces = [self._logits(places[start : start + ROWS]) for start in range(0, len(places), ROWS)]
        return np.concatenate(pieces) if pieces else np.zeros((0, len(self._head_bias)))

    def neighbourhood(self, places: Array, swaps: Swaps, new: Array) -> Neighbourhood:
        """Logits of texts and of one-word changes of them."""
        changed = places[swaps.owners]
        changed[np.arange(len(changed)), swaps.positions] = new
        logits = self.logits(np.concatenate([places, changed]))
        return Neighbourhood(logits[: len(places)], logits[len(places) :])

    def _logits(self, places: Array) -> Array:
        ahead, behind = self._directions
        features = [ahead.read(places, mean=self._mean), behind.read(places[:, ::-1], mean=self._mean)]
        logits: Array = np.concatenate(features, axis=1) @ self._head + self._head_bias
        return logits


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """One reading direction: the gates' input of every distinct word, and the recurrent weights.

    Gates stand in the order input, forget, output, cell. The first three are halved, because
    sigmoid(z) = (1 + tanh(z / 2)) / 2: then one tanh serves all four. NumPy takes the steps, since most of them are so
    small that what counts is how soon an operation starts.
    """

    inputs: Array
    recurrent: Array

    @staticmethod
    def of(lstm: nn.LSTM, vectors: Tensor) -> Direction:
        """From a layer and the vectors of the distinct words."""
        size = lstm.hidden_size
        order = torch.cat([torch.arange(2 * size), torch.arange(3 * size, 4 * size), torch.arange(2 * size, 3 * size)])
        scale = torch.cat([torch.full((3 * size,), 0.5), torch.ones(size)]).to(vectors.dtype)
        bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
        inputs = F.linear(vectors, lstm.get_parameter("weight_ih_l0"), bias)[:, order] * scale
        recurrent = lstm.get_parameter("weight_hh_l0")[order].t() * scale
        return Direction(inputs.contiguous().numpy(), recurrent.contiguous().numpy())

    def read(self, places: Array, *, mean: bool) -> Array:
        """The features [texts, hidden] of texts, each in this direction's order."""
        tree = PrefixTree.of(places)
        size = len(self.recurrent)
        readers = np.zeros(0, np.int64)
        hidden, cell, total = (np.zeros((1, size), self.inputs.dtype) for _ in range(3))
        words = np.ascontiguousarray(tree.texts.T)
        branching = set(tree.agreement.tolist())
        for step in range(places.shape[1]):
            if step in branching:
                more = np.flatnonzero(tree.agreement <= step)
                parents = np.searchsorted(readers, more, side="right").clip(min=1) - 1
                hidden, cell, total = hidden[parents], cell[parents], total[parents] if mean else total
                readers = more
                gates, given = (np.empty((len(more), 4 * size), self.inputs.dtype) for _ in range(2))
                opened, taken = gates[:, : 3 * size], np.empty_like(hidden)
            np.take(self.inputs, words[step][readers], axis=0, out=given, mode="wrap")  # -1 is the last row: padding
            np.matmul(hidden, self.recurrent, out=gates)
            gates += given
            np.tanh(gates, out=gates)
            opened *= 0.5
            opened += 0.5
            cell *= gates[:, size : 2 * size]
            np.multiply(gates[:, :size], gates[:, 3 * size :], out=taken)
            cell += taken
            np.tanh(cell, out=hidden)
            hidden *= gates[:, 2 * size : 3 * size]
            if mean:
                total += hidden
        found = np.searchsorted(readers, tree.row_of, side="right") - 1
        features: Array = total[found] / places.shape[1] if mean else hidden[found]
        return features
