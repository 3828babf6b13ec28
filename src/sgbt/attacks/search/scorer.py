"""Scorer: an attack's only way to its victim. It counts, and it stops an attack that has used up its queries.

A search does not call its victim: it yields a `Query` and is sent the answer, so that many searches can wait side by
side and be answered together. What asks is a generator; `yield from` hands its result on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.queries.classifier import ClassifierEngine
from sgbt.attacks.queries.engine import Neighbourhood, Probabilities, Query, TextEngine, WordSwaps
from sgbt.attacks.space import SearchSpace, State
from sgbt.core.errors import AttackError

T = TypeVar("T")
Asking = Generator[Query, Neighbourhood, T]
"""Something that asks queries, is sent the answers, and comes to a result."""

MARGIN = 2e-6
"""How far another label must lead before a text counts as broken: more than scores can differ by rounding."""


class OutOfQueries(Exception):  # noqa: N818 - it is not an error, it ends a search
    """The limit on queries is reached."""


class Scorer:
    """Scores of the texts of one space, for one attack on one label.

    A query is one text whose score an attack asks for, as the papers count: a text asked about twice counts twice,
    although no engine here computes it twice within one request.
    """

    def __init__(self, engine: TextEngine, space: SearchSpace, label: int, *, limit: int | None = None) -> None:
        self._engine, self._limit = engine, limit
        self.space, self.label = space, label
        self.queries = 0
        self._rejected: set[bytes] = set()

    def charge(self, queries: int) -> None:
        """Count queries; more than the limit ends the attack."""
        if self._limit is not None and self.queries + queries > self._limit:
            self.queries = self._limit
            raise OutOfQueries
        self.queries += queries

    def probabilities(self, states: State, *, free: bool = False) -> Asking[Probabilities]:
        """Label probabilities [texts, labels]; with `free`, the attack charges for those it looks at."""
        if not free:
            self.charge(len(states))
        return self._kept((yield Query(states)).texts, states)

    def neighbourhood(
        self,
        states: State,
        owners: NDArray[np.int64],
        positions: NDArray[np.int64],
        choices: NDArray[np.int64],
        *,
        free: bool = False,
    ) -> Asking[Neighbourhood]:
        """Label probabilities of texts and their changes: text `owners[j]` with `choices[j]` at `positions[j]`.

        The changes are charged for, unless with `free`; the texts themselves are charged for by attacks that use
        their scores. Changes of one text stand together.
        """
        swaps = WordSwaps(owners, positions, choices)
        if not free:
            self.charge(int(self.space.admits(swaps.applied(states)).sum()) if self.space.limited else len(owners))
        found = yield Query(states, swaps)
        if not self._rejected and not self.space.limited:
            return found
        return Neighbourhood(self._kept(found.texts, states), self._kept(found.swaps, swaps.applied(states)))

    def around(self, state: State, positions: NDArray[np.int64], choices: NDArray[np.int64]) -> Asking[Probabilities]:
        """Label probabilities of one-word changes of a single text."""
        found = yield from self.neighbourhood(state[None], np.zeros(len(positions), np.int64), positions, choices)
        return found.swaps

    def slopes(self, state: State) -> NDArray[np.float64]:
        """First-order change of the label's lead for every choice [positions, choices]: white box, one query."""
        if not isinstance(self._engine, ClassifierEngine):
            raise AttackError(
                expected="a model with gradients",
                got="a callable",
                where="the attack gradient",
                remedy="pass a TextClassifier, or use greedy or pwws",
            )
        self.charge(1)
        return self._engine.slopes(state, self.label)

    def reject(self, state: State) -> None:
        """A text that looked broken and is not, as the victim itself says: from now on its score says so too.

        An engine that searches in less precision than the victim decides in goes over to the victim's.
        """
        self._rejected.add(_key(state))
        if isinstance(self._engine, ClassifierEngine):
            self._engine.decide()

    def _kept(self, probabilities: Probabilities, states: State) -> Probabilities:
        """The probabilities of these texts; of those that are rejected, or none of the space, all for the label."""
        rejected = (
            [place for place, state in enumerate(states) if _key(state) in self._rejected] if self._rejected else []
        )
        if self.space.limited:
            rejected += np.flatnonzero(~self.space.admits(states)).tolist()
        if rejected:
            probabilities = probabilities.copy()
            probabilities[rejected] = np.eye(probabilities.shape[1])[self.label]
        return probabilities

    def broken(self, probabilities: Probabilities) -> NDArray[np.bool_]:
        """Which rows name another label than the attacked one, by more than rounding."""
        return is_broken(probabilities, self.label)


def _key(state: State) -> bytes:
    return state.astype(np.int32).tobytes()


def is_broken(probabilities: Probabilities, label: int) -> NDArray[np.bool_]:
    """Whether another label leads, by more than `MARGIN`."""
    others = np.delete(probabilities, label, axis=1)
    found: NDArray[np.bool_] = others.max(axis=1, initial=0) > probabilities[:, label] + MARGIN
    return found
