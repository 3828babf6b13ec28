"""Particle swarm attack (Zang, Qi, Yang, Liu, Zhang, Liu and Sun, ACL 2020).

A particle is a text; its velocity at each word says how readily that word turns. Each iteration moves every velocity
towards words that differ from the particle's own best text and from the swarm's best; turns words to those of its own
best (with probability C1) and of the swarm's best (with probability C2), each word with probability sigmoid(velocity);
and mutates the text with probability 1 - 2 x its share of changed words. Inertia falls from 0.8 to 0.2, C1 from 0.8 to
0.2, and C2 rises from 0.2 to 0.8.

Presets. `zang` is the paper's code: 60 particles, 20 iterations, V_max 3; a mutation finds the best substitute of every
word and draws the word in proportion to what it gains; broken texts may change at most 25 % of the words. `quick` draws
the word by its number of substitutes and takes the best of them, a hundredth of the queries. `openattack` is the search
of OpenAttack 2.1.1 (20 x 20, random substitutes) with working elites. `openattack-compat` is that search with
OpenAttack's fault: its best texts start with the score -1, which no probability is below, so they are never replaced;
published figures rest on it.

Departures. Who mutates is drawn for all particles before the mutations are. Bests are updated after the turn as well as
after the mutation in the OpenAttack presets only, as there. Of equally good substitutes the first is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.search.method import Limited, at_least, draw_each, first_where, still_original, substitutes_at
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import State

MOST_WEIGHT = 10
"""A word with more substitutes than this is drawn no more often for it (Zang et al. 2020)."""


class Mutation(Protocol):
    """A change of one word."""

    def of_original(self, scorer: Scorer, count: int, rng: np.random.Generator) -> Asking[State]:
        """The first swarm: the original, mutated `count` times."""
        return (yield from self.of_texts(scorer, np.repeat(scorer.space.original[None], count, axis=0), rng))

    def of_texts(self, scorer: Scorer, states: State, rng: np.random.Generator) -> Asking[State]:
        """Every given text, mutated."""
        ...


@dataclass(frozen=True, slots=True)
class BestWord(Mutation):
    """The paper's code: the best substitute of every word is found, and the word is drawn by what it gains.

    Where no swap gains anything, all words are equally likely, and one without substitutes stays as it is.
    """

    def of_original(self, scorer: Scorer, count: int, rng: np.random.Generator) -> Asking[State]:
        """One look at all swaps of the original serves all particles."""
        gains, best = yield from _best_swaps(scorer, scorer.space.original[None])
        swarm = np.repeat(scorer.space.original[None], count, axis=0)
        places = draw_each(rng, np.repeat(gains, count, axis=0))
        swarm[np.arange(count), places] = best[0, places]
        return swarm

    def of_texts(self, scorer: Scorer, states: State, rng: np.random.Generator) -> Asking[State]:
        """Look at all swaps of every text; equal texts are looked at once, and counted each time."""
        if not len(states):
            return states
        distinct, row_of = np.unique(states, axis=0, return_inverse=True)
        gains, best = yield from _best_swaps(scorer, distinct, asked=len(states))
        result, row_of = states.copy(), row_of.reshape(-1)
        places = draw_each(rng, gains[row_of])
        result[np.arange(len(result)), places] = best[row_of, places]
        return result


@dataclass(frozen=True, slots=True)
class QuickWord(Mutation):
    """A word that is still original, drawn by its number of substitutes, gets the best of them."""

    def of_texts(self, scorer: Scorer, states: State, rng: np.random.Generator) -> Asking[State]:
        """One word of each text."""
        if not len(states):
            return states
        places = draw_each(rng, _weights(scorer, states))
        owners, choices = substitutes_at(scorer.space, places)
        found = yield from scorer.neighbourhood(states, owners, places[owners], choices)
        left, starts = found.swaps[:, scorer.label], np.searchsorted(owners, np.arange(len(states)))
        best = first_where(left == np.minimum.reduceat(left, starts)[owners], starts)
        result = states.copy()
        result[np.arange(len(result)), places] = choices[best]
        return result


@dataclass(frozen=True, slots=True)
class RandomWord(Mutation):
    """A word that is still original, drawn by its number of substitutes, gets any of them, as in OpenAttack."""

    def of_texts(self, scorer: Scorer, states: State, rng: np.random.Generator) -> Asking[State]:
        """One word of each text."""
        yield from ()  # asks nothing
        result = states.copy()
        for state, sums in zip(result, np.cumsum(_weights(scorer, states), axis=1), strict=True):
            place = min(int(sums.searchsorted(rng.random() * sums[-1], side="right")), len(sums) - 1)  # as `draw_each`
            state[place] = 1 + int(rng.integers(scorer.space.substitutes[place]))
        return result


def _weights(scorer: Scorer, states: State) -> NDArray[np.float64]:
    return still_original(states, np.minimum(scorer.space.substitutes, MOST_WEIGHT).astype(np.float64))


def _best_swaps(
    scorer: Scorer, states: State, *, asked: int | None = None
) -> Asking[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """For every text and position, the weight of what its best substitute gains, and that substitute's number.

    `asked` texts are charged for, each with all its swaps and once as it stands.
    """
    space, label = scorer.space, scorer.label
    positions, choices = space.swaps
    texts, swaps = len(states), len(positions)
    scorer.charge(((texts if asked is None else asked) - texts) * swaps + (texts if asked is None else asked))
    owners = np.repeat(np.arange(texts), swaps)
    found = yield from scorer.neighbourhood(states, owners, np.tile(positions, texts), np.tile(choices, texts))
    now, left = found.texts[:, label], found.swaps[:, label].reshape(texts, swaps)
    gains = np.zeros((texts, len(space)))
    best = states.astype(np.int64)
    edges = np.flatnonzero(np.diff(positions, prepend=-1))
    for place, start, stop in zip(space.replaceable, edges, [*edges[1:], swaps], strict=True):
        chosen = start + left[:, start:stop].argmin(axis=1)
        rows = np.arange(texts)
        gains[:, place] = (now - left[rows, chosen]).clip(min=0)
        best[:, place] = choices[chosen]
    gains[~gains.any(axis=1)] = 1.0
    return gains, best


FASTEST = 3.0
"""V_max: velocities start between -V_max and V_max, and each difference pushes by as much."""


@dataclass(frozen=True, kw_only=True)
class PSO(Limited):
    """A swarm of texts that turn towards the best texts seen."""

    name: ClassVar[str] = "pso"
    source: ClassVar[str] = "sememes"
    particles: int = 60
    iterations: int = 20
    mutation: Mutation = field(default_factory=BestWord)
    openattack: bool = False
    faulty_elites: bool = False
    max_changed: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("particles", self.particles, 1)
        at_least("iterations", self.iterations, 1)

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The best particle of the first moment at which one is broken, or None."""
        space = scorer.space
        if not len(space.replaceable):
            return None
        swarm = yield from self.mutation.of_original(scorer, self.particles, rng)
        bests = Bests(swarm, faulty=self.faulty_elites)
        velocities = np.empty((self.particles, len(space)))
        if not self.openattack and (found := (yield from self._met(scorer, swarm, bests))) is not None:
            return found
        velocities[:] = rng.uniform(-FASTEST, FASTEST, self.particles)[:, None]
        for iteration in range(self.iterations):
            passed = iteration / self.iterations
            if self.openattack and (found := (yield from self._met(scorer, swarm, bests))) is not None:
                return found
            swarm = _turned(swarm, velocities, bests, passed, rng, alias=self.faulty_elites and iteration == 0)
            if (found := (yield from self._met(scorer, swarm, bests, update=self.openattack))) is not None:
                return found
            unchanged = 1 - 2 * (swarm != 0).mean(axis=1)
            mutating = np.flatnonzero(rng.random(self.particles) < unchanged)
            swarm = swarm.copy()
            swarm[mutating] = yield from self.mutation.of_texts(scorer, swarm[mutating], rng)
            if not self.openattack and (found := (yield from self._met(scorer, swarm, bests))) is not None:
                return found
        return None

    def _met(self, scorer: Scorer, swarm: State, bests: Bests, *, update: bool = True) -> Asking[State | None]:
        """Score the swarm: a broken particle ends the search, any other may be a new best."""
        probabilities = yield from scorer.probabilities(swarm)
        left = probabilities[:, scorer.label]
        found = scorer.broken(probabilities) & self.within(swarm)
        if found.any():
            best: State = swarm[int(np.argmin(np.where(found, left, np.inf)))]
            return best
        if update:
            bests.update(swarm, left)
        return None


class Bests:
    """The best text of every particle and of all: those with the least probability of the label."""

    def __init__(self, swarm: State, *, faulty: bool) -> None:
        start = -1.0 if faulty else np.inf
        self.own, self.shared = swarm.copy(), swarm[0].copy()
        self._own, self._shared = np.full(len(swarm), start), start

    def update(self, swarm: State, left: NDArray[np.float64]) -> None:
        """Take what is better."""
        better = left < self._own
        self.own[better], self._own[better] = swarm[better], left[better]
        least = int(np.argmin(left))
        if left[least] < self._shared:
            self.shared, self._shared = swarm[least].copy(), float(left[least])


def _turned(
    swarm: State,
    velocities: NDArray[np.float64],
    bests: Bests,
    passed: float,
    rng: np.random.Generator,
    *,
    alias: bool,
) -> State:
    """The swarm after one move; velocities are changed in place.

    With `alias`, a particle's own best is the particle itself as it moves: in OpenAttack's first iteration both names
    stand for one list, which is then what its best texts remain.
    """
    inertia = 0.6 * (1 - passed) + 0.2
    own, shared = 0.8 - 0.6 * passed, 0.2 + 0.6 * passed
    swarm = swarm.copy()
    push = np.where(swarm != bests.own, FASTEST, -FASTEST) + np.where(swarm != bests.shared, FASTEST, -FASTEST)
    velocities[:] = inertia * velocities + (1 - inertia) * push
    turning = 1 / (1 + np.exp(-velocities))
    for number, particle in enumerate(swarm):
        if rng.random() < own:
            turned = rng.random(len(particle)) < turning[number]
            np.copyto(particle, bests.own[number], where=turned)
        if rng.random() < shared:
            turned = rng.random(len(particle)) < turning[number]
            np.copyto(particle, bests.shared, where=turned)
        if alias:
            bests.own[number] = particle
    return swarm


PSO_PRESETS = {
    "zang": PSO(),
    "quick": PSO(mutation=QuickWord()),
    "openattack": PSO(particles=20, mutation=RandomWord(), openattack=True, max_changed=1.0),
    "openattack-compat": PSO(particles=20, mutation=RandomWord(), openattack=True, faulty_elites=True, max_changed=1.0),
}
