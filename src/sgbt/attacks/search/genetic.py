"""Genetic attack (Alzantot, Sharma, Elgohary, Ho, Srivastava and Chang, EMNLP 2018).

To perturb a text: draw a word that is still original in proportion to its number of neighbours, and put in the
neighbour that raises the score most, if any does. A population is perturbed originals. Each generation stops if its
best member is broken; else that member survives, and the others are children of two parents, each word of a child
coming from either with probability 1/2, and perturbed. Parents are drawn in proportion to exp(score / temperature),
where the score is 1 - P(y): a better text is a likelier parent.

Presets: `alzantot` is the paper (60 x 30, 8 neighbours, temperature 0.3, at most 20 % of the words); `fast` is the
larger search of Jia et al. 2019 (60 x 40); `openattack` is OpenAttack 2.1.1 (20 x 20, parents in proportion to the
score itself).

Departures. There is no language model among the neighbours' conditions. The paper's code draws again until it hits an
original word; drawing once among those is the same distribution. Of equally good neighbours the first is taken. The 20
% are asked of the broken text, as in the paper's evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.queries.engine import Probabilities
from sgbt.attacks.search.method import Limited, at_least, draw_each, first_where, still_original, substitutes_at
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State


@dataclass(frozen=True, kw_only=True)
class Genetic(Limited):
    """A population under selection, crossover and best-of-one-word mutation."""

    name: ClassVar[str] = "genetic"
    population: int = 60
    generations: int = 30
    neighbours: int = 8
    temperature: float | None = 0.3
    """None draws parents in proportion to the score itself."""
    max_changed: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("population", self.population, 1)
        at_least("generations", self.generations, 1)
        at_least("neighbours", self.neighbours, 1)

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The best member of the first generation in which it is broken, or None."""
        space = scorer.space
        weights = np.minimum(space.substitutes, self.neighbours).astype(np.float64)
        if not weights.any():
            return None
        everyone = np.repeat(space.original[None], self.population, axis=0)
        members, probabilities = yield from self._perturbed(scorer, everyone, weights, rng)
        for _ in range(self.generations):
            scorer.charge(len(members))  # a text's score is known from its making; the papers' code asks again
            found = scorer.broken(probabilities) & self.within(members)
            best = int(np.argmin(probabilities[:, scorer.label]))
            if found.any():
                allowed = np.where(found, probabilities[:, scorer.label], np.inf)
                best_allowed: State = members[int(np.argmin(allowed))]
                return best_allowed
            parents = self._parents(1 - probabilities[:, scorer.label])
            if not parents.any():
                return None
            first, second = (draw_each(rng, np.tile(parents, (self.population - 1, 1))) for _ in range(2))
            taken = rng.random((self.population - 1, len(space))) < 0.5
            children = np.where(taken, members[second], members[first])
            perturbed, scores = yield from self._perturbed(scorer, children, weights, rng)
            members = np.concatenate([members[best : best + 1], perturbed])
            probabilities = np.concatenate([probabilities[best : best + 1], scores])
        return None

    def _parents(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.temperature is None else np.exp((scores - scores.max()) / self.temperature)

    def _perturbed(
        self, scorer: Scorer, states: State, weights: NDArray[np.float64], rng: np.random.Generator
    ) -> Asking[tuple[State, Probabilities]]:
        """Every text with one more word replaced, where that raises the score; and what the victim says of it."""
        label = scorer.label
        places = draw_each(rng, still_original(states, weights))
        owners, choices = substitutes_at(scorer.space, places, self.neighbours)
        positions = places[owners]
        scorer.charge(len(states))  # the papers' code scores the text as it stands beside its candidates
        found = yield from scorer.neighbourhood(states, owners, positions, choices)
        result, probabilities = states.copy(), found.texts.copy()
        starts = np.searchsorted(owners, np.arange(len(states)))
        least = np.minimum.reduceat(found.swaps[:, label], starts)
        best = first_where(found.swaps[:, label] == least[owners], starts)
        better = np.flatnonzero(least < probabilities[:, label])
        result[better, positions[best[better]]] = choices[best[better]]
        probabilities[better] = found.swaps[best[better]]
        return result, probabilities


GENETIC_PRESETS = {
    "alzantot": Genetic(),
    "fast": Genetic(generations=40),
    "openattack": Genetic(population=20, generations=20, neighbours=1000, temperature=None, max_changed=1.0),
}
