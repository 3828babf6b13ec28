"""Gradient: a white box that knows in one pass back which swaps should hurt (HotFlip, Ebrahimi et al. 2018, for words).

The first-order change of the label's lead is known for every swap at once from the gradient by word vectors. Each step
scores the `tried` most promising swaps exactly, makes the best of them, and takes a new gradient; a step without
progress doubles how many are tried, until all are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgbt.attacks.search.greedy import moves
from sgbt.attacks.search.method import Limited, at_least
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State


@dataclass(frozen=True, kw_only=True)
class Gradient(Limited):
    """Greedy search that looks only where the gradient points."""

    name: ClassVar[str] = "gradient"
    replaces_words: ClassVar[bool] = True
    tried: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("tried", self.tried, 1)

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The text after the first step that breaks it, or None when no swap helps any more."""
        space, label = scorer.space, scorer.label
        if not len(space.replaceable):
            return None
        state, left = space.original, float((yield from scorer.probabilities(space.original[None]))[0, label])
        while True:
            positions, choices = moves(space, state, most=self.most_changes(space))
            promise = np.argsort(scorer.slopes(state)[positions, choices], kind="stable")
            start, count, improved = 0, self.tried, False
            while not improved and start < len(promise):
                rows = promise[start : start + count]
                probabilities = yield from scorer.around(state, positions[rows], choices[rows])
                best = int(np.argmin(probabilities[:, label]))
                improved = bool(probabilities[best, label] < left)
                start, count = start + count, 2 * count
            if not improved:
                return None
            state, left = state.copy(), float(probabilities[best, label])
            state[positions[rows[best]]] = choices[rows[best]]
            if scorer.broken(probabilities[best : best + 1])[0]:
                return state
