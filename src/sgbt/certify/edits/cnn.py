"""The least margins of a TextCNN over the paths of a lattice, window by window.

A window is a matter of the last words, as many as its filter is wide. Under mean pooling what windows add to a margin
adds up, divided by their number: the shortest path whose state is the last words, for each number of words that a text
may have, is exact. Under max pooling each filter is taken by itself: what it can meet is the greatest of all windows on
any path, and what it cannot lose is the least, over all paths, of the greatest window on the path.

Symbols are words where their histories are few. Else they are the sets that edges write, with the box of what a filter
makes of a set's words at each of its places, so that bounds hold for every word. A history that was dropped is a row
of words any of which may stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.certify.edits.enumerated import exact_where_few
from sgbt.certify.edits.histories import MOST, Floats, Ints, Symbols, least_values, most_histories
from sgbt.certify.edits.margins import least_margins, rivals_of
from sgbt.certify.edits.unrolled import UnrolledLayer, lengths_of, unrolled
from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS
from sgbt.threats.lattice import ChoiceSets, Lattice

BITS = 62
"""Of all symbols of a window together."""
WINDOWS_AT_ONCE = 1 << 12

Pair = tuple[Tensor, Tensor]


@least_margins.register
@torch.no_grad()
def _of_cnn(model: TextCNN, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    rivals = rivals_of(labels, model.config.classes)
    found = np.full(rivals.shape, -np.inf)
    for text, lattice in enumerate(lattices):
        steps = unrolled(lattice, max_length)
        against = Against.of(model, int(labels[text]), rivals[text])
        reader, symbols = _reader(model, against, steps, lattice.sets)
        if reader is not None:
            start = 0.0 if model.config.pooling == "mean" else -np.inf
            found[text] = reader.margins(least_values(steps, symbols, reader, start=start))
        found[text] = exact_where_few(model, steps, lattice.sets, int(labels[text]), found[text])
    return found


@dataclass(frozen=True, eq=False)
class Against:
    """The head as the label's row minus each rival's, [rivals, filters] and [rivals]."""

    weight: Tensor
    bias: Tensor

    @staticmethod
    def of(model: TextCNN, label: int, rivals: Ints) -> Against:
        """For one text."""
        weight, bias, other = model.head.weight, model.head.bias, torch.from_numpy(rivals)
        return Against(weight[label] - weight[other], bias[label] - bias[other])

    def least(self, low: Tensor, high: Tensor, part: slice = slice(None)) -> Tensor:
        """The least margins of features between these ends, [..., rivals], the bias apart."""
        weight = self.weight[:, part]
        return low @ weight.clamp(min=0).T + high @ weight.clamp(max=0).T


def _reader(
    model: TextCNN, against: Against, steps: Sequence[UnrolledLayer], sets: ChoiceSets
) -> tuple[CNNReader | None, Symbols]:
    """The reader of one text by its words, or by sets where there are too many; none where these are as well."""
    widest = max(model.config.kernel_sizes)
    numbers = np.unique(np.concatenate([step.choices for step in steps])).tolist()
    ids = np.unique(np.array([word for number in numbers for word in sets[number]], dtype=np.int64))
    codes = model.embedding.encode(torch.from_numpy(ids)).numpy()
    distinct, place = np.unique(codes, return_inverse=True)
    by_word = Symbols(sets, lambda words: place[np.searchsorted(ids, words)] + 1)
    vectors = model.embedding(torch.from_numpy(distinct))
    columns = (
        len(against.bias) * len(lengths_of(steps)) if model.config.pooling == "mean" else len(model.head.weight[0])
    )
    few = most_histories(steps, by_word, widest - 1) * columns <= MOST
    if few and (bits := len(distinct).bit_length()) * widest <= BITS:
        return CNNReader.of(model, against, steps, vectors, None, bits), by_word
    place_of = {number: row for row, number in enumerate(numbers)}
    by_set = Symbols(sets, lambda words: words)
    by_set.update({number: np.array([row + 1]) for number, row in place_of.items()})
    if (bits := len(numbers).bit_length()) * widest > BITS:
        return None, by_set
    rows = [by_word[number] - 1 for number in numbers]
    return CNNReader.of(model, against, steps, vectors, rows, bits), by_set


@dataclass(frozen=True, eq=False)
class CNNReader:
    """A TextCNN as a reader of one lattice.

    Columns are rivals, times numbers of words, under mean pooling; filters under max pooling, and then `highest` is
    what they met so far. `images[layer][offset]` are the ends of what the filters of a layer make of each symbol at
    that place of a window, [1 + symbols, filters]; row 0 is any symbol at all.
    """

    model: TextCNN
    against: Against
    lengths: Ints
    images: list[list[Pair]]
    bits: int
    highest: Tensor = field(repr=False)

    counted = 0
    read = np.empty(0, dtype=np.int64)

    @property
    def span(self) -> int:
        """All words of the widest window but the last."""
        return max(self.model.config.kernel_sizes) - 1

    @property
    def mean(self) -> bool:
        """Whether windows are averaged."""
        return self.model.config.pooling == "mean"

    @property
    def columns(self) -> int:
        """As above."""
        return len(self.against.bias) * len(self.lengths) if self.mean else len(self.highest)

    @staticmethod
    def of(
        model: TextCNN,
        against: Against,
        steps: Sequence[UnrolledLayer],
        vectors: Tensor,
        rows: list[Ints] | None,
        bits: int,
    ) -> CNNReader:
        """The reader of symbols that are words, with their `vectors`, or the sets of `rows` of them."""
        images = []
        for layer in model.convolutions:
            weight = layer.get_parameter("weight")
            ends = [_ends(F.linear(vectors, weight[:, :, place]), rows) for place in range(weight.shape[2])]
            images.append(ends)
        highest = vectors.new_full((model.head.weight.shape[1],), -torch.inf)
        return CNNReader(model, against, lengths_of(steps), images, bits, highest)

    def margins(self, found: dict[int, Floats]) -> Floats:
        """The least margins of all texts, [rivals]."""
        if self.mean:
            rows = [
                value.reshape(-1, len(self.lengths))[:, np.searchsorted(self.lengths, words)]
                for words, value in found.items()
            ]
            least = torch.from_numpy(np.min(rows, axis=0))
        else:
            least = self.against.least(torch.from_numpy(np.min(list(found.values()), axis=0)), self.highest)
        margins: Floats = (least + self.against.bias).numpy()
        return margins

    def shortened(self, history: Ints) -> Ints:
        """Every word counts."""
        return history

    def joined(self, value: Floats, history: Ints, symbol: Ints, kept: Ints, words: int) -> Floats:
        """With the windows of every width that end with the new word."""
        wide, total = history << self.bits | symbol, value.copy()
        for layer, size in enumerate(self.model.config.kernel_sizes):
            if size <= words + 1:
                self._take(total, layer, wide & (1 << self.bits * size) - 1, size)
        return total

    def ended(self, value: Floats, history: Ints, words: int) -> Floats:
        """With the one window, filled up with zeros, of filters that are wider than the text."""
        total = value.copy()
        for layer, size in enumerate(self.model.config.kernel_sizes):
            if size > words:
                self._take(total, layer, history, words)
        return total

    def dropped(self, value: Floats, history: Ints) -> Floats:
        """Nothing: a history of no symbols stands for every one."""
        return value

    def _take(self, total: Floats, layer: int, windows: Ints, words: int) -> None:
        """Take windows into account, of which the first so many places have words."""
        distinct, row = np.unique(windows, return_inverse=True)
        size, filters = self.model.config.kernel_sizes[layer], self.model.config.filters
        part = slice(layer * filters, (layer + 1) * filters)
        features = [self._features(layer, chunk, words) for chunk in np.array_split(distinct, _chunks(len(distinct)))]
        low, high = (torch.cat(ends) for ends in zip(*features, strict=True))
        if self.mean:
            gains = self.against.least(low, high, part).numpy()
            counts = np.maximum(self.lengths - size + 1, 1)
            total += (gains[:, :, None] / counts).reshape(len(distinct), self.columns)[row]
            return
        self.highest[part] = torch.maximum(self.highest[part], high.amax(dim=0))
        total[:, part] = np.maximum(total[:, part], low.numpy()[row])

    def _features(self, layer: int, windows: Ints, words: int) -> Pair:
        """The ends of the activated filters of windows."""
        bias = self.model.convolutions[layer].get_parameter("bias")
        low, high = bias.expand(len(windows), -1).clone(), bias.expand(len(windows), -1).clone()
        for place in range(words):
            symbol = torch.from_numpy(windows >> self.bits * (words - 1 - place) & (1 << self.bits) - 1)
            least, greatest = self.images[layer][place]
            low += least[symbol]
            high += greatest[symbol]
        return ACTIVATIONS[self.model.config.activation].range(low, high)


def _chunks(windows: int) -> int:
    return max(-(-windows // WINDOWS_AT_ONCE), 1)


def _ends(images: Tensor, rows: list[Ints] | None) -> Pair:
    """The least and greatest image of every symbol, behind those of all of them."""
    if rows is not None:
        flat = images[torch.from_numpy(np.concatenate(rows))].numpy() if rows else images.numpy()
        begin = np.cumsum([0, *(len(row) for row in rows)])[:-1]
        low, high = (torch.from_numpy(end.reduceat(flat, begin, axis=0)) for end in (np.minimum, np.maximum))
    else:
        low = high = images
    if not len(low):
        zero = images.new_zeros(1, images.shape[1])
        return zero, zero
    return (
        torch.cat([low.amin(dim=0, keepdim=True), low]),
        torch.cat([high.amax(dim=0, keepdim=True), high]),
    )
