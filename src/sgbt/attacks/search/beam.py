"""Beam search: the best few texts at once, each followed along all its single swaps.

What greedy search loses by its first choices, a beam keeps for a while. Every step scores all one-word changes of
every text in the beam and keeps the `width` different texts with the least probability of the label.
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
class Beam(Limited):
    """The `width` best texts, for as many steps as improve the best of them, and `patience` more."""

    name: ClassVar[str] = "beam"
    width: int = 8
    patience: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("width", self.width, 1)
        at_least("patience", self.patience, 0)

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The first broken text, the most broken one of its step; None when the beam stands still."""
        space, label = scorer.space, scorer.label
        beam = space.original[None]
        least = float((yield from scorer.probabilities(beam))[0, label])
        seen = {beam[0].tobytes()}
        waited = 0
        while waited <= self.patience:
            steps = [moves(space, state, most=self.most_changes(space)) for state in beam]
            owners = np.repeat(np.arange(len(beam)), [len(positions) for positions, _ in steps])
            if not len(owners):
                return None
            positions = np.concatenate([positions for positions, _ in steps])
            choices = np.concatenate([choices for _, choices in steps])
            probabilities = (yield from scorer.neighbourhood(beam, owners, positions, choices)).swaps
            left = probabilities[:, label]
            kept = []
            for place in np.argsort(left, kind="stable"):
                state: State = beam[owners[place]].copy()
                state[positions[place]] = choices[place]
                if scorer.broken(probabilities[place : place + 1])[0]:
                    return state
                if state.tobytes() not in seen:
                    seen.add(state.tobytes())
                    kept.append(state)
                if len(kept) == self.width:
                    break
            if not kept:
                return None
            waited = 0 if left.min() < least else waited + 1
            least, beam = min(least, float(left.min())), np.stack(kept)
        return None
