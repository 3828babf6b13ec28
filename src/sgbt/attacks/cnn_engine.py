"""TextCNN, asked about many variants of one text.

A filter is affine in each word of its window, so the projections of every word that can occur are found once. A text
is then sums of them; a one-word change touches k windows of width k, and the greatest of all other windows is known
from running maxima from both ends (running sums for mean pooling).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sgbt.attacks.engine import IdQuestion, Ids, Neighbourhood, Swaps
from sgbt.attacks.stretches import Stretches
from sgbt.attacks.word_rows import WordRows
from sgbt.models import TextCNN
from sgbt.models.activations import ACTIVATIONS

Array = NDArray[Any]
FEW = 4
"""Up to this many changed positions, greatest values are found directly and not by running maxima."""
BLOCK = 64
"""Swaps, or texts, that are worked on at once, few enough to stay in the processor's cache."""


class FastCNN:
    """The filters of a TextCNN over the words met so far, and its head.

    The filters of all widths stand side by side, widest first, so that those with a weight for offset l are the first
    `columns[l]`.
    """

    @torch.no_grad()
    def __init__(self, model: TextCNN) -> None:
        config = model.config
        self.activation = ACTIVATIONS[config.activation].function
        self.mean = config.pooling == "mean"
        # the largest value comes from the largest argument
        self.late = not self.mean and ACTIVATIONS[config.activation].monotone
        order = sorted(range(len(config.kernel_sizes)), key=lambda layer: -config.kernel_sizes[layer])
        layers = [layer for layer in model.convolutions if isinstance(layer, nn.Conv1d)]
        self.sizes = [config.kernel_sizes[layer] for layer in order]
        self.widest, self.filters = self.sizes[0], config.filters
        self.columns = [self.filters * sum(size > offset for size in self.sizes) for offset in range(self.widest)]
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

        self.words = WordRows(project, self.columns, weight.new_zeros(len(weight)))
        biases = [layers[layer].bias for layer in order]
        self.bias = torch.cat([bias for bias in biases if bias is not None]).detach().numpy()
        head = model.head.weight.unflatten(1, (len(order), self.filters))[:, order].flatten(1)
        self.head, self.head_bias = head.t().contiguous().numpy(), model.head.bias.detach().numpy()

    def open(self, ids: Ids, length: int) -> TextWindows:
        """Project the words, and remember windows of one text."""
        self.words.meet(ids)
        return TextWindows(self, length)

    def answers(self, opened: Sequence[TextWindows], questions: Sequence[IdQuestion]) -> list[Neighbourhood]:
        """Logits of texts and of their changes, text by text."""
        return [text.answer(question) for text, question in zip(opened, questions, strict=True)]


class TextWindows:
    """The windows of one text and of its variants. A window that does not exist has the value -inf."""

    def __init__(self, network: FastCNN, length: int) -> None:
        self._network = network
        self._activate_, self._mean, self._late = network.activation, network.mean, network.late
        self._sizes, self._widest, self._columns = network.sizes, network.widest, network.columns
        self._bias, self._head, self._head_bias = network.bias, network.head, network.head_bias
        filters = network.filters
        self._counts = [max(length - size + 1, 1) for size in self._sizes]
        self._groups = [slice(place * filters, (place + 1) * filters) for place in range(len(self._sizes))]
        self._padded = max(length, self._widest)
        self._known: list[tuple[Array, Array]] = []  # the first text and the last one, with their windows
        self._first: Stretches | None = None

    @property
    def _projected(self) -> list[Array]:
        return self._network.words.tables

    def answer(self, question: IdQuestion) -> Neighbourhood:
        """Logits of texts and of one-word changes of them."""
        rows = self._network.words.rows
        places = rows(question.ids)
        if not len(question.swaps):
            return Neighbourhood(self.logits(places), np.zeros((0, len(self._head_bias)), self._bias.dtype))
        return self.neighbourhood(places, question.swaps, rows(question.new))

    def logits(self, places: Array) -> Array:
        """Logits [texts, labels] of texts in full."""
        if not len(places):
            return np.zeros((0, len(self._head_bias)), self._bias.dtype)
        pooled = [self._pooled(places[start : start + BLOCK]) for start in range(0, len(places), BLOCK)]
        return self._finish(np.concatenate(pooled))

    def neighbourhood(self, places: Array, swaps: Swaps, new: Array) -> Neighbourhood:
        """Logits of texts and of one-word changes of them; changes of one text stand together."""
        features = np.empty((len(places), len(self._bias)), self._bias.dtype)
        changed = np.empty((len(swaps), len(self._head_bias)), self._bias.dtype)
        rows_of = dict(_runs(swaps.owners))
        for owner, text in enumerate(places):
            filled = self._filled(text)
            windows = self._windows(filled)
            values = self._pooled_values(windows)
            features[owner] = self._pool(values)
            if (rows := rows_of.get(owner)) is not None:
                pooled = self._swapped(filled, windows, values, swaps.positions[rows], new[rows])
                changed[rows] = self._finish(pooled)
        return Neighbourhood(self._finish(features), changed)

    def _pooled(self, places: Array) -> Array:
        """Pooled values [texts, filters] of texts: windows that differ from those of the first text asked about are
        found anew, each distinct one once; over the stretches that agree, the greatest values are looked up.
        """
        texts = np.pad(places, ((0, 0), (0, self._padded - places.shape[1])), constant_values=0)
        if self._first is None:
            self._windows(texts[0])
            self._first = Stretches.of(self._pooled_values(self._known[0][1]), mean=self._mean)
        differs = texts != self._known[0][0]
        touched = differs.copy()
        for offset in range(1, self._widest):
            touched[:, :-offset] |= differs[:, offset:]
        owners, starts = np.nonzero(touched)
        words = np.pad(texts, ((0, 0), (0, self._widest)), constant_values=0)
        content = [words[owners, starts + offset] for offset in range(self._widest)]
        firsts, which = _distinct([starts, *content], [self._padded, *[len(self._network.words)] * self._widest])
        fresh = np.repeat(self._bias[None], len(firsts), axis=0)
        for offset, columns in enumerate(self._columns):
            fresh[:, :columns] += self._projected[offset][content[offset][firsts]]
        if not self._late:
            fresh = self._activate(fresh)
        for count, group in zip(self._counts, self._groups, strict=True):
            fresh[starts[firsts] >= count, group] = 0 if self._mean else -np.inf
        pooled = self._first.outside(touched)
        join = np.add if self._mean else np.maximum
        for owner, rows in _runs(owners):  # reduceat would go down one column at a time
            join(pooled[owner], join.reduce(fresh[which[rows]], axis=0), out=pooled[owner])
        return pooled

    def _filled(self, text: Array) -> Array:
        missing = self._padded - len(text)
        return np.concatenate([text, np.zeros(missing, np.int64)]) if missing else text

    def _windows(self, text: Array) -> Array:
        """Pre-activations [windows, filters]: those of the first text or of the last one, whichever is nearer, with
        the windows that changed found anew. Nobody writes into them.
        """
        if not self._known:
            self._known.append((text.copy(), self._summed(text, np.arange(self._padded))))
        differences = [np.flatnonzero(text != known) for known, _ in self._known]
        nearest = min(range(len(differences)), key=lambda which: len(differences[which]))
        changed, values = differences[nearest], self._known[nearest][1]
        if len(changed):
            touched = np.zeros(self._padded, bool)
            for offset in range(self._widest):
                touched[np.maximum(changed - offset, 0)] = True
            rows = np.flatnonzero(touched)
            values = values.copy()
            values[rows] = self._summed(text, rows)
            self._known[1:] = [(text.copy(), values)]
        return values

    def _summed(self, text: Array, rows: Array) -> Array:
        values = np.repeat(self._bias[None], len(rows), axis=0)
        words = np.concatenate([text, np.zeros(self._widest, np.int64)])
        for offset, columns in enumerate(self._columns):
            values[:, :columns] += self._projected[offset][words[rows + offset]]
        for count, group in zip(self._counts, self._groups, strict=True):
            values[rows >= count, group] = -np.inf
        return values

    def _pooled_values(self, values: Array) -> Array:
        """What is pooled: pre-activations where the activation can wait, else activated values."""
        if self._late:
            return values
        activated = self._activate(values)
        for count, group in zip(self._counts, self._groups, strict=True):
            activated[count:, group] = 0 if self._mean else -np.inf
        return activated

    def _pool(self, values: Array) -> Array:
        return values.sum(axis=0) if self._mean else values.max(axis=0)

    def _swapped(self, text: Array, windows: Array, values: Array, positions: Array, new: Array) -> Array:
        """Pooled values [swaps, filters] of one-word changes of a text."""
        at, which = np.unique(positions, return_inverse=True)
        elsewhere = self._elsewhere(values, at)
        before = np.full((self._widest, windows.shape[1]), -np.inf, windows.dtype)
        framed = np.concatenate([before, windows])  # so that a window may start before the text: it does not exist
        without = [
            framed[self._widest + at - offset, :columns] - self._projected[offset][text[at]]
            for offset, columns in enumerate(self._columns)
        ]
        pooled = np.empty((len(positions), windows.shape[1]), windows.dtype)
        for start in range(0, len(positions), BLOCK):
            rows = slice(start, start + BLOCK)
            np.take(elsewhere, which[rows], axis=0, out=pooled[rows])
            for offset, columns in enumerate(self._columns):
                fresh = without[offset][which[rows]]
                fresh += self._projected[offset][new[rows]]
                self._join(pooled[rows, :columns], fresh)
        return pooled

    def _join(self, pooled: Array, fresh: Array) -> None:
        """Pool fresh windows into what is pooled already."""
        if self._late:
            np.maximum(pooled, fresh, out=pooled)
        elif self._mean:
            pooled += np.where(np.isfinite(fresh), self._activate(fresh), 0)
        else:
            np.maximum(pooled, np.where(np.isfinite(fresh), self._activate(fresh), -np.inf), out=pooled)

    def _elsewhere(self, values: Array, at: Array) -> Array:
        """Pooled over the windows that do not hold the word at each of the given positions."""
        if len(at) <= FEW:
            return np.stack([self._elsewhere_directly(values, int(place)) for place in at])
        join = np.add if self._mean else np.maximum
        nothing = np.full((1, values.shape[1]), 0 if self._mean else -np.inf, values.dtype)
        until = np.concatenate([nothing, values])  # row j: windows before j
        after = np.concatenate([values, nothing])  # row j: windows from j on
        for row in range(len(values)):  # faster than ufunc.accumulate, which goes down one column at a time
            join(until[row], until[row + 1], out=until[row + 1])
            join(after[-1 - row], after[-2 - row], out=after[-2 - row])
        result = after[at + 1]
        for size, group in zip(self._sizes, self._groups, strict=True):
            part = result[:, group]
            join(part, until[(at - size + 1).clip(min=0), group], out=part)
        return result

    def _elsewhere_directly(self, values: Array, place: int) -> Array:
        start: float = 0 if self._mean else -np.inf
        join = np.add if self._mean else np.maximum
        result = join.reduce(values[place + 1 :], axis=0, initial=start)
        for size, group in zip(self._sizes, self._groups, strict=True):
            first = join.reduce(values[: max(place - size + 1, 0), group], axis=0, initial=start)
            result[group] = join(result[group], first)
        return result

    def _activate(self, values: Array) -> Array:
        return self._activate_(torch.from_numpy(values)).numpy()

    def _finish(self, pooled: Array) -> Array:
        if self._late:
            features = self._activate(pooled)
        elif self._mean:
            counts = np.repeat(self._counts, self._groups[0].stop).astype(pooled.dtype)
            features = pooled / counts
        else:
            features = pooled
        logits: Array = features @ self._head + self._head_bias
        return logits


def _runs(owners: Array) -> Iterator[tuple[int, slice]]:
    """The stretches of equal owners."""
    edges = np.flatnonzero(np.diff(owners, prepend=-1, append=-2))
    for start, stop in pairwise(edges):
        yield int(owners[start]), slice(int(start), int(stop))


def _distinct(columns: list[Array], sizes: list[int]) -> tuple[Array, Array]:
    """Which rows are the first of their kind, and for every row which of those it equals; entries start at -1."""
    if np.prod([float(size + 1) for size in sizes]) >= 2.0**62:  # too many to number: every row counts as its own
        everything = np.arange(len(columns[0]))
        return everything, everything
    key = np.zeros(len(columns[0]), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * (size + 1) + column + 1
    _, rows, which = np.unique(key, return_index=True, return_inverse=True)
    return rows, which
