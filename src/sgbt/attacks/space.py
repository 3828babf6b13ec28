"""SearchSpace: everything one text may become, as small numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sgbt.threats import SubstitutionTable

State = NDArray[np.int32]
"""A text of the space: the number of the choice at every position; 0 is the word that stood there."""

MASKED = -1
"""The choice that is no word at all: what word saliency puts in a word's place. It is asked about, never returned."""


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """The words of a text and, at each position, the words that may stand there: `options[i][0]` is the word itself.

    Only the positions that a model reads are listed: what stands behind its limit of words cannot change its answer.
    """

    options: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(words: Sequence[str], table: SubstitutionTable, *, length: int | None = None) -> SearchSpace:
        """The space of a text under a table, cut to its first `length` words."""
        return SearchSpace(tuple((word, *table.substitutes(word)) for word in words[:length]))

    def __len__(self) -> int:
        return len(self.options)

    @cached_property
    def substitutes(self) -> NDArray[np.int64]:
        """How many substitutes every position has."""
        return np.fromiter((len(choices) - 1 for choices in self.options), np.int64, len(self.options))

    @cached_property
    def replaceable(self) -> NDArray[np.int64]:
        """The positions that have substitutes."""
        return np.flatnonzero(self.substitutes)

    @cached_property
    def swaps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every position and choice that changes one word of the original, in the order of the text."""
        return self.swaps_at(self.replaceable)

    def swaps_at(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All substitutes at the given positions: for each, its position and its choice."""
        counts = self.substitutes[positions]
        starts = np.cumsum(counts) - counts
        return np.repeat(positions, counts), np.arange(counts.sum()) - np.repeat(starts, counts) + 1

    @property
    def limited(self) -> bool:
        """Whether some combinations of choices are no text of the space (`admits`)."""
        return False

    def admits(self, states: State) -> NDArray[np.bool_]:
        """Which of some states are texts of the space."""
        return np.ones(len(states), dtype=bool)

    def edits_of(self, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places and choices that are edits of a kind, where there are such, and all of them otherwise."""
        return self.swaps

    @property
    def original(self) -> State:
        """The text itself."""
        return np.zeros(len(self), np.int32)

    def changes(self, state: State) -> Mapping[int, str]:
        """The positions where a text differs from the original, and the words that stand there."""
        return {int(place): self.options[place][state[place]] for place in np.flatnonzero(state)}
