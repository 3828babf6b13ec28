"""Several texts attacked side by side: their queries are answered together.

One search asks about a few dozen texts at a time, too few to fill a processor. So some searches run at once; each waits
with its query until all have one, and what the queries share is computed once. Answers do not depend on the
company, so neither do results.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sgbt.attacks.queries.engine import Query, TextEngine
from sgbt.attacks.result import AttackResult
from sgbt.attacks.search.scorer import Asking
from sgbt.attacks.victim import Victim

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to be shown to the victim itself; the answer is the label that it gives."""

    text: str


Attacking = Generator[Query | Shown, Any, AttackResult]
"""The attack on one text: it asks its engine, shows what it found to the victim, and comes to a result."""


@dataclass(slots=True, eq=False)
class OngoingAttack:
    """An attack on one text, the engine that answers it (None: it asks nothing), the seconds that it has taken, what it
    waits with, and its result when there is one.
    """

    asking: Attacking
    engine: TextEngine | None
    seconds: float = 0.0
    query: Query | Shown | None = None
    result: AttackResult | None = None

    def go_on(self, answer: Any) -> None:
        """Hand over an answer, None at the start; then there is a query or a result."""
        began = time.perf_counter()
        try:
            self.query = self.asking.send(answer)
        except StopIteration as ended:
            self.result = ended.value
        self.seconds += time.perf_counter() - began


def in_step(victim: Victim, searches: Iterator[OngoingAttack], *, together: int) -> Iterator[OngoingAttack]:
    """Searches as they end, each with its result; up to `together` are under way at once.

    One that has found a text gives up its place, and waits until there are as many such texts, or nothing else is left
    to do: the victim itself reads many texts in little more time than one.
    """
    running: list[OngoingAttack] = []
    found: list[OngoingAttack] = []
    while True:
        answers = _answered(victim, running)
        while len(running) < together and (search := next(searches, None)) is not None:
            running.append(search)
            answers.append(None)
        if not running or len(found) >= together:
            answers += _labelled(victim, found)
            running, found = [*running, *found], []
        if not running:
            return
        for search, answer in zip(running, answers, strict=True):
            search.go_on(answer)
        yield from (search for search in running if search.result is not None)
        found += [search for search in running if search.result is None and isinstance(search.query, Shown)]
        running = [search for search in running if search.result is None and isinstance(search.query, Query)]


def _answered(victim: Victim, searches: Sequence[OngoingAttack]) -> list[Any]:
    """Answers to queries; the time is shared out by the number of texts asked about."""
    if not searches:
        return []
    began = time.perf_counter()
    queries = [search.query for search in searches if isinstance(search.query, Query)]
    found = victim.answers([search.engine for search in searches], queries)
    each = (time.perf_counter() - began) / max(sum(map(len, queries)), 1)
    for search, query in zip(searches, queries, strict=True):
        search.seconds += each * len(query)
    return list(found)


def _labelled(victim: Victim, searches: Sequence[OngoingAttack]) -> list[Any]:
    """What the victim itself says of the texts that were found."""
    if not searches:
        return []
    began = time.perf_counter()
    texts = [search.query.text for search in searches if isinstance(search.query, Shown)]
    labels = victim.probabilities(texts).argmax(axis=1).tolist()
    each = (time.perf_counter() - began) / len(searches)
    for search in searches:
        search.seconds += each
    return list(labels)


def searched_alone(victim: Victim, engine: TextEngine, asking: Asking[R]) -> R:
    """The result of one search by itself."""
    try:
        query = next(asking)
        while True:
            (answer,) = victim.answers([engine], [query])
            query = asking.send(answer)
    except StopIteration as ended:
        result: R = ended.value
        return result
