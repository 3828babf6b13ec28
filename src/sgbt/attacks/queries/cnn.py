"""TextCNN, asked about many variants of some texts.

A filter is affine in each word of its window, so the projections of every word are found once, and a window is a sum of
them. What a text shares with its variants is kept text by text, in `TextWindows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgbt.attacks.queries.caches import WordRows
from sgbt.attacks.queries.engine import IdQuery, Ids, Neighbourhood, query_engine
from sgbt.attacks.queries.text_windows import TextWindows
from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS

Array = NDArray[Any]


class CNNEngine:
    """The filters of a TextCNN over the words met so far, and its head.

    The filters of all widths stand side by side, widest first, so that those with a weight for offset l are the first
    `columns[l]`. A word's row holds its projections for all offsets, one after the other: `at[l]` is where those for
    offset l stand. Before pooling, the value of a window that does not exist is `nothing`, which no pooling takes.
    """

    @torch.no_grad()
    def __init__(self, model: TextCNN) -> None:
        config = model.config
        self._activation = ACTIVATIONS[config.activation].function
        self.mean = config.pooling == "mean"
        self.nothing: float = 0 if self.mean else -np.inf
        # the largest value comes from the largest argument, so the activation can wait until after pooling
        self.late = not self.mean and ACTIVATIONS[config.activation].monotone
        order = sorted(range(len(config.kernel_sizes)), key=lambda layer: -config.kernel_sizes[layer])
        layers = [layer for layer in model.convolutions if isinstance(layer, nn.Conv1d)]
        self.sizes = [config.kernel_sizes[layer] for layer in order]
        self.widest = self.sizes[0]
        self.groups = [slice(place * config.filters, (place + 1) * config.filters) for place in range(len(order))]
        self.columns = [config.filters * sum(size > offset for size in self.sizes) for offset in range(self.widest)]
        starts = [0, *accumulate(self.columns)]
        self.at = [slice(start, start + count) for start, count in zip(starts, self.columns, strict=False)]
        weight = torch.cat(
            [
                layers[layer].weight[:, :, offset]
                for offset in range(self.widest)
                for layer in order
                if layers[layer].kernel_size[0] > offset
            ]
        )

        def project(ids: Tensor) -> Tensor:
            return nn.functional.linear(model.embedding(model.embedding.encode(ids)), weight)

        ids = len(model.embedding.weight if model.embedding.codes is None else model.embedding.codes)
        self.words = WordRows(project, weight.new_zeros(len(weight)), ids=ids)
        biases = [layers[layer].bias for layer in order]
        self.bias = torch.cat([bias for bias in biases if bias is not None]).detach().numpy()
        head = model.head.weight.unflatten(1, (len(order), config.filters))[:, order].flatten(1)
        self._head, self._head_bias = head.t().contiguous().numpy(), model.head.bias.detach().numpy()

    def open(self, ids: Ids, length: int) -> TextWindows:
        """Project the words, and remember windows of one text."""
        self.words.meet(ids)
        return TextWindows(self, self.words.rows(ids[:, 0]), choices=ids.shape[1])

    def answers(self, opened: Sequence[TextWindows], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """Logits of texts and of their changes, text by text."""
        return [text.answer(query) for text, query in zip(opened, queries, strict=True)]

    def counts(self, length: int) -> list[int]:
        """How many windows of each width a text has."""
        return [max(length - size + 1, 1) for size in self.sizes]

    def windows(self, words: Array, starts: Array, counts: Sequence[int]) -> Array:
        """Pre-activations [windows, filters] of windows of the widest width, with the rows of their words [windows,
        words] and their places in the text; -inf where one does not exist.
        """
        table = self.words.table
        values = np.repeat(self.bias[None], len(words), axis=0)
        for offset, (own, columns) in enumerate(zip(self.at, self.columns, strict=True)):
            values[:, :columns] += table[words[:, offset], own]
        for count, group in zip(counts, self.groups, strict=True):
            values[starts >= count, group] = -np.inf
        return values

    def pooled_values(self, windows: Array) -> Array:
        """What is pooled: pre-activations where the activation can wait, else activated values."""
        if self.late:
            return windows
        return np.where(np.isfinite(windows), self._activated(windows), self.nothing).astype(windows.dtype)

    def logits(self, pooled: Array, counts: Sequence[int]) -> Array:
        """Logits of texts from their pooled values [texts, filters]."""
        if self.late:
            features = self._activated(pooled)
        elif self.mean:
            features = pooled / np.repeat(counts, self.groups[0].stop).astype(pooled.dtype)
        else:
            features = pooled
        found: Array = features @ self._head + self._head_bias
        return found

    def _activated(self, values: Array) -> Array:
        return self._activation(torch.from_numpy(values)).numpy()


query_engine.register(TextCNN, CNNEngine)
