"""LeaveOut: the words without which the label loses most are left out, one after the other, while the budget lasts.

The effect of each word is measured once, by leaving it out of the text as it stands (Li, Monroe and Jurafsky 2016).
Where nothing may be left out, the same is done with the best edit of each place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgbt.attacks.search.method import Limited
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State


@dataclass(frozen=True, kw_only=True)
class LeaveOut(Limited):
    """Edits in the order of what each by itself takes from the label."""

    name: ClassVar[str] = "leave-out"

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The text after the first edit that breaks it, or None."""
        space, label = scorer.space, scorer.label
        positions, choices = space.edits_of("deletions")
        if not len(positions):
            return None
        alone = yield from scorer.around(space.original, positions, choices)
        state = space.original
        for which in np.argsort(alone[:, label], kind="stable"):
            longer = state.copy()
            longer[positions[which]] = choices[which]
            twice = state[positions[which]] != 0 or (longer != 0).sum() > self.most_changes(space)
            if twice or not space.admits(longer[None])[0]:
                continue
            state = longer
            if scorer.broken((yield from scorer.probabilities(state[None])))[0]:
                return state
        return None
