"""The replaceable words of a batch, those that are the same together: what their swaps do is found once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.certify.question import Question
from sgbt.certify.word_tables import Placed

WORDS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some distinct words that occur equally often, at places `start` to `stop` of the order, all of one word together.

    `entries` [words, choices] says where the images of their choices stand, the word's own first.
    """

    start: int
    stop: int
    entries: Tensor


@dataclass(frozen=True, eq=False)
class RepeatedWords:
    """The replaceable words of a question, ordered by how often they occur, then by how many substitutes they have."""

    question: Question
    placed: Placed

    @cached_property
    def entries(self) -> Tensor:
        """Where the images of every choice stand, [texts, words, choices]; the word's own first."""
        slots = self.question.ids.shape[2]
        return F.embedding(self.placed.places, self.placed.words.choices[:, :slots])

    @property
    def order(self) -> Tensor:
        """The numbers of the replaceable words (`Swaps.spots`) in that order."""
        return self._ordered[0]

    @property
    def most(self) -> int:
        """The greatest number of choices of a word."""
        return max(block.entries.shape[1] for block in self.blocks)

    @cached_property
    def blocks(self) -> list[Block]:
        """All of them, a few distinct words at a time."""
        return list(self._blocks())

    @cached_property
    def _ordered(self) -> tuple[Tensor, Tensor, Tensor]:
        """The order, how often the word at each place of it occurs, and its last substitute."""
        swaps = self.question.swaps
        sets = self.placed.places[swaps.spots[:, 0], swaps.spots[:, 1]]
        _, word, occurrences = torch.unique(sets, return_inverse=True, return_counts=True)
        slots = torch.arange(1, swaps.taken.shape[1] + 1, device=sets.device)
        # places of one word may allow different slots, where those in between stand for the word itself
        last = torch.zeros_like(occurrences).scatter_reduce(0, word, (swaps.taken * slots).amax(dim=1), "amax")[word]
        times = occurrences[word]
        order = ((times * (len(slots) + 1) + last) * len(occurrences) + word).argsort()
        return order, times[order], last[order]

    def _blocks(self) -> Iterator[Block]:
        order, times, last = self._ordered
        spots = self.question.swaps.spots[order]
        start = 0
        for occurrences, places in zip(*torch.unique_consecutive(times, return_counts=True), strict=True):
            step, end = int(occurrences), start + int(places)
            while start < end:
                stop = min(start + WORDS_AT_ONCE * step, end)
                chosen = spots[start:stop:step]
                slots = int(last[stop - 1])
                yield Block(start, stop, self.entries[chosen[:, 0], chosen[:, 1], : slots + 1])
                start = stop
