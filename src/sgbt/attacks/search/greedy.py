"""Greedy: the one swap that hurts most, again and again (the baseline of Alzantot et al. 2018).

Every step scores all one-word changes of the text as it stands and makes the best of them, until the label changes or
no change helps any more. Departure from that baseline, which looks at the nearest neighbour of each word only: all
substitutes count, and a word that was replaced before may be replaced again, by another substitute of the original word
or by that word itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.search.method import Limited
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import SearchSpace, State


@dataclass(frozen=True, slots=True, eq=False)
class GreedyStep:
    """One swap of a search: `choice` was put at `position`, which made `state`.

    The attacked label has the probability `left` in it, and the text is `broken` if another label leads.
    """

    position: int
    choice: int
    state: State
    left: float
    broken: bool


@dataclass(frozen=True, kw_only=True)
class Greedy(Limited):
    """Steepest descent in single swaps."""

    name: ClassVar[str] = "greedy"

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The text after the first step that breaks it, or None."""
        return self.watched(scorer, lambda step: None)

    def watched(self, scorer: Scorer, listener: Callable[[GreedyStep], None]) -> Asking[State | None]:
        """The same search; `listener` gets every swap made, up to the one that breaks or the last that helps."""
        space, label = scorer.space, scorer.label
        state, left = space.original, float((yield from scorer.probabilities(space.original[None]))[0, label])
        while True:
            positions, choices = moves(space, state, most=self.most_changes(space))
            if not len(positions):
                return None
            probabilities = yield from scorer.around(state, positions, choices)
            best = int(np.argmin(probabilities[:, label]))
            if probabilities[best, label] >= left:
                return None
            state, left = state.copy(), float(probabilities[best, label])
            state[positions[best]] = choices[best]
            broken = bool(scorer.broken(probabilities[best : best + 1])[0])
            listener(GreedyStep(int(positions[best]), int(choices[best]), state, left, broken))
            if broken:
                return state


def moves(space: SearchSpace, state: State, *, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All one-word changes of a text within its space that leave at most `most` words changed.

    They come in the order of the text: at each position the substitutes in the table's order, then the way back.
    """
    changed = np.flatnonzero(state)
    positions, choices = space.swaps if len(changed) < most else space.swaps_at(changed)
    new = choices != state[positions]
    positions, choices = positions[new], choices[new]
    back = np.concatenate([positions, changed]), np.concatenate([choices, np.zeros(len(changed), np.int64)])
    order = np.argsort(back[0], kind="stable")
    return back[0][order], back[1][order]
