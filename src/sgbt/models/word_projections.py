"""WordProjections: what the filters of a TextCNN make of each word, kept from one call to the next.

A word is projected when it is first read. Later calls compare its vector and the filters' weights with those that the
projection was made of, value by value, so no change of them, however made, is missed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_BYTES = 1 << 26
"""Memory for what is kept. Where it is used up, all is forgotten but the words that are being read."""
BLOCK = 64
"""Words that are projected at once, zeros where there are fewer: a product of matrices rounds by their shapes, and with
one shape a word's figures do not depend on how many others are read for the first time (at widths such as 300)."""


@dataclass(frozen=True, slots=True)
class ProjectedWords:
    """For each filter size the rows [places * size, filters]; offset l of the word at place p is row p * size + l."""

    places: Tensor
    rows: tuple[Tensor, ...]


@dataclass(slots=True)
class _Kept:
    """`place_of[code]` is -1 for a word that is not kept. Places are filled once, never overwritten."""

    weights: tuple[Tensor, ...]
    place_of: Tensor
    vectors: Tensor
    rows: tuple[Tensor, ...]
    used: int = 0


class WordProjections:
    """A cache that several threads may ask. Copies of it, and what is pickled, start empty."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: _Kept | None = None

    def __reduce__(self) -> tuple[type[WordProjections], tuple[int]]:
        return WordProjections, (self._most_bytes,)

    def of(self, codes: Tensor, vectors: Tensor, weights: Sequence[Tensor], *, vocabulary: int) -> ProjectedWords:
        """The projections of distinct codes with these vectors, by filters with weights [filters, width, size]."""
        with (
            self._lock,
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast(vectors.device.type, enabled=False),
        ):
            kept = self._kept
            if kept is None or not _same(kept, vectors, weights, vocabulary):
                kept = self._emptied(weights, vectors, vocabulary)
            places = kept.place_of[codes]
            new = ((places < 0) | (kept.vectors[places] != vectors).any(dim=1)).nonzero().flatten()
            if kept.used + len(new) > len(kept.vectors):
                most = max(self._most_bytes // _bytes_of_a_word(weights, vectors), len(codes))
                if kept.used + len(new) > most:
                    kept = self._emptied(weights, vectors, vocabulary)
                    new = torch.arange(len(codes), device=codes.device)
                _grow(kept, min(max(2 * len(kept.vectors), kept.used + len(new)), most))
            if len(new):
                _add(kept, codes[new], vectors[new])
            return ProjectedWords(kept.place_of[codes], kept.rows)

    def _emptied(self, weights: Sequence[Tensor], vectors: Tensor, vocabulary: int) -> _Kept:
        place_of = torch.full((vocabulary,), -1, device=vectors.device)
        rows = tuple(weight.new_zeros(weight.shape[2], weight.shape[0]) for weight in weights)
        copies = tuple(weight.detach().clone() for weight in weights)
        self._kept = _Kept(copies, place_of, vectors.new_zeros(1, vectors.shape[1]), rows)
        return self._kept


def window_sums(rows: Tensor, places: Tensor, size: int, last: Tensor | None = None) -> Tensor:
    """Sums [texts, windows, filters] of the rows of each window's words; see `ProjectedWords`.

    With `last`, windows behind that one of a text are that one again: for whoever looks for the greatest.
    """
    texts, windows = len(places), places.shape[1] - size + 1
    bags = (places * size).unfold(1, size, 1)
    if last is not None:
        starts = torch.arange(windows, device=places.device).minimum(last.unsqueeze(1))
        bags = bags.gather(1, starts.unsqueeze(2).expand(texts, windows, size))
    bags = (bags + torch.arange(size, device=places.device)).flatten(0, 1)
    return F.embedding_bag(bags, rows, mode="sum").view(texts, windows, rows.shape[1])


def _same(kept: _Kept, vectors: Tensor, weights: Sequence[Tensor], vocabulary: int) -> bool:
    alike = kept.vectors.dtype == vectors.dtype and kept.vectors.device == vectors.device
    return (
        alike
        and len(kept.place_of) == vocabulary
        and all(
            old.dtype == new.dtype and old.device == new.device and torch.equal(old, new)
            for old, new in zip(kept.weights, weights, strict=True)
        )
    )


def _bytes_of_a_word(weights: Sequence[Tensor], vectors: Tensor) -> int:
    return vectors.element_size() * (vectors.shape[1] + sum(weight.shape[0] * weight.shape[2] for weight in weights))


def _grow(kept: _Kept, places: int) -> None:
    """Room for so many words, in new memory: whoever reads the old goes on with that."""

    def longer(values: Tensor, length: int) -> Tensor:
        found = values.new_zeros(length, values.shape[1])
        found[: len(values)] = values
        return found

    sizes = [weight.shape[2] for weight in kept.weights]
    kept.rows = tuple(longer(rows, places * size) for rows, size in zip(kept.rows, sizes, strict=True))
    kept.vectors = longer(kept.vectors, places)


def _add(kept: _Kept, codes: Tensor, vectors: Tensor) -> None:
    start, end = kept.used, kept.used + len(codes)
    blocks = F.pad(vectors, (0, 0, 0, -len(vectors) % BLOCK)).split(BLOCK)
    for weight, rows in zip(kept.weights, kept.rows, strict=True):
        filters, _, size = weight.shape
        flat = weight.permute(2, 0, 1).flatten(0, 1)
        projected = torch.cat([F.linear(block, flat) for block in blocks])[: len(codes)]
        rows[start * size : end * size] = projected.view(-1, filters)
    kept.vectors[start:end] = vectors
    kept.place_of[codes] = torch.arange(start, end, device=codes.device)
    kept.used = end
