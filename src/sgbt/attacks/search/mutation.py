"""How particles of the swarm attack begin and mutate: three ways to change one word of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.search.method import draw_each, first_where, still_original, substitutes_at
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
