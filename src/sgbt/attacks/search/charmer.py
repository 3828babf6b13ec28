"""Charmer: the best place, then the best letter there, again and again (after Abad Rocamora et al., ICML 2024).

Every step makes one test edit at each place of the text, keeps the places where that hurts most, and makes every edit
there; the best of all is kept. Departures: a place is a word, or the gap between two, rather than a character; strings
that the victim reads alike are tried once; a threat's budget takes the place of a fixed number of steps; and where no
typing errors are allowed, the edits are whatever is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgbt.attacks.search.method import Limited, at_least
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State


@dataclass(frozen=True, kw_only=True)
class Charmer(Limited):
    """Typing errors at the `places` that matter most."""

    name: ClassVar[str] = "charmer"
    places: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("places", self.places, 1)

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The text after the first edit that breaks it, or None when no further one is allowed or helps."""
        space, label = scorer.space, scorer.label
        positions, choices = space.edits_of("typos")
        state, left = space.original, float((yield from scorer.probabilities(space.original[None]))[0, label])
        for _ in range(self.most_changes(space)):
            fresh = state[positions] == 0
            positions, choices = positions[fresh], choices[fresh]
            tests = np.flatnonzero(np.diff(positions, prepend=-1))
            tested = yield from scorer.around(state, positions[tests], choices[tests])
            chosen = np.argsort(tested[:, label], kind="stable")[: self.places]
            near = np.isin(positions, positions[tests[chosen]])
            if not near.any():
                return None
            probabilities = yield from scorer.around(state, positions[near], choices[near])
            best = int(np.argmin(probabilities[:, label]))
            if probabilities[best, label] >= left:
                return None
            state, left = state.copy(), float(probabilities[best, label])
            state[positions[near][best]] = choices[near][best]
            if scorer.broken(probabilities[best : best + 1])[0]:
                return state
        return None
