"""Batches of texts of like length: a short text never pays for a long one, and padding is always marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.core.errors import DataError
from sgbt.data.tokenised import RaggedIds

PADDING = 0
"""The id that fills up short texts; `Batch.mask` is False there, and nothing may read it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts padded to the longest among them: `ids` and `mask` are [texts, words]; `rows` says which texts they are."""

    ids: Tensor
    mask: Tensor
    rows: Tensor

    @property
    def lengths(self) -> Tensor:
        """Real words of each text."""
        return self.mask.sum(dim=1)


def pad(texts: RaggedIds, rows: np.ndarray) -> Batch:
    """One batch of the given rows."""
    lengths = texts.lengths[rows]
    columns = np.arange(max(int(lengths.max(initial=0)), 1))
    mask = columns[None, :] < lengths[:, None]
    source = np.minimum(texts.starts[rows][:, None] + columns[None, :], max(len(texts.flat) - 1, 0))
    ids = np.where(mask, texts.flat[source] if len(texts.flat) else PADDING, PADDING)
    return Batch(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(mask), torch.from_numpy(np.asarray(rows)))


def batches(texts: RaggedIds, *, size: int, seed: int | None = None, words: int | None = None) -> Iterator[Batch]:
    """All texts in batches of `size`, grouped by length.

    With a seed, for training: texts are shuffled, sorted by length with a little noise so that batches differ from
    epoch to epoch, and batches come in random order. Without, for evaluation: shortest first. `words` limits the number
    of positions of a batch (texts times longest), so that a few very long texts never exhaust the memory.
    """
    for limit, what in ((size, "text"), (words, "word")):
        if limit is not None and limit < 1:
            raise DataError(expected=f"batches of at least one {what}", got=str(limit))
    lengths = texts.lengths
    if seed is None:
        order = np.argsort(lengths, kind="stable")
    else:
        generator = np.random.default_rng(seed)
        noisy = lengths * generator.uniform(0.9, 1.1, len(lengths)) + generator.uniform(0, 1, len(lengths))
        order = np.argsort(noisy, kind="stable")
    chunks = list(_chunks(order, lengths, size, words))
    if seed is not None:
        chunks = [chunks[place] for place in generator.permutation(len(chunks))]
    for chunk in chunks:
        yield pad(texts, chunk)


def _chunks(order: np.ndarray, lengths: np.ndarray, size: int, words: int | None) -> Iterator[np.ndarray]:
    start = 0
    while start < len(order):
        stop = min(start + size, len(order))
        while words is not None and stop - start > 1 and (stop - start) * lengths[order[start:stop]].max() > words:
            stop -= 1
        yield order[start:stop]
        start = stop
