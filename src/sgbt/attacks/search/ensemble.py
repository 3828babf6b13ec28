"""Ensemble: a text counts as broken if any of several attacks breaks it.

Robustness under one attack is an upper bound on robustness; the least over several is a tighter one. The attacks run
from cheap to thorough, and the first success ends the search. Each starts from the same random numbers as it would
alone, so the ensemble breaks exactly the texts that one of its parts breaks.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgbt.attacks.search.beam import Beam
from sgbt.attacks.search.genetic import GENETIC_PRESETS
from sgbt.attacks.search.gradient import Gradient
from sgbt.attacks.search.greedy import Greedy
from sgbt.attacks.search.method import Attack
from sgbt.attacks.search.pso import PSO_PRESETS
from sgbt.attacks.search.pwws import PWWS
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State

BLACK_BOX: tuple[Attack, ...] = (
    Greedy(),
    PWWS(),
    Beam(),
    GENETIC_PRESETS["openattack"],
    PSO_PRESETS["openattack"],
)
WHITE_BOX: tuple[Attack, ...] = (Gradient(), *BLACK_BOX)


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Several attacks, one after the other."""

    name: ClassVar[str] = "ensemble"
    replaces_words: ClassVar[bool] = True
    source: ClassVar[str] = "counter_fitted"
    parts: Sequence[Attack] = BLACK_BOX

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The first broken text that any part finds."""
        for part in self.parts:
            found = yield from part.search(scorer, copy.deepcopy(rng))
            if found is not None:
                return found
        return None
