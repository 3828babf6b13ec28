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
        self._head, self._head_bias = model.head.weight.detach(), model.head.bias.detach()

    @torch.no_grad()
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
        features = [
            direction.read(places if forwards else places[:, ::-1], mean=self._mean)
            for direction, forwards in zip(self._directions, (True, False), strict=True)
        ]
        logits: Array = F.linear(torch.cat(features, dim=1), self._head, self._head_bias).numpy()
        return logits


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """One reading direction: the gates' input of every distinct word, and the recurrent weights."""

    inputs: Tensor
    recurrent: Tensor

    @staticmethod
    def of(lstm: nn.LSTM, vectors: Tensor) -> Direction:
        """From a layer and the vectors of the distinct words. The output gate is put before the cell's input."""
        size = lstm.hidden_size
        order = torch.cat([torch.arange(2 * size), torch.arange(3 * size, 4 * size), torch.arange(2 * size, 3 * size)])
        bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
        inputs = F.linear(vectors, lstm.get_parameter("weight_ih_l0"), bias)
        recurrent = lstm.get_parameter("weight_hh_l0")
        return Direction(inputs[:, order].contiguous(), recurrent[order].t().contiguous())

    def read(self, places: Array, *, mean: bool) -> Tensor:
        """The features [texts, hidden] of texts, each in this direction's order."""
        tree = PrefixTree.of(places)
        size = self.recurrent.shape[0]
        hidden = self.inputs.new_zeros(1, size)
        cell, total = hidden, hidden
        readers = np.zeros(1, np.int64)
        words = torch.from_numpy(tree.texts.T.astype(np.int64))
        branching = set(tree.agreement[1:].tolist())
        rows = torch.from_numpy(readers)
        last = len(self.inputs) - 1
        for step in range(places.shape[1]):
            if step in branching:
                more = np.flatnonzero(tree.agreement <= step)
                parents = torch.from_numpy(np.searchsorted(readers, more, side="right") - 1)
                hidden, cell = hidden[parents], cell[parents]
                total = total[parents] if mean else total
                readers, rows = more, torch.from_numpy(more)
            there = words[step][rows]
            gates = torch.addmm(self.inputs[there.where(there >= 0, last)], hidden, self.recurrent)
            opened = gates[:, : 3 * size].sigmoid_()
            cell = opened[:, size : 2 * size] * cell + opened[:, :size] * gates[:, 3 * size :].tanh_()
            hidden = opened[:, 2 * size :] * cell.tanh()
            total = total + hidden if mean else total
        found = torch.from_numpy(np.searchsorted(readers, tree.row_of, side="right") - 1)
        return total[found] / places.shape[1] if mean else hidden[found]
