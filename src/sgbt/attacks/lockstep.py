"""Several texts attacked side by side: their questions are answered together.

One search asks about a few dozen texts at a time, too few to fill a processor. So some searches run at once; each waits
with its question until all have one, and what the questions share is computed once. Answers do not depend on the
company, so neither do results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sgbt.attacks.engine import Neighbourhood, Question, TextEngine
from sgbt.attacks.scorer import Asking
from sgbt.attacks.victim import Victim

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Search(Generic[T]):
    """A search, the engine that answers it (None: it asks nothing), the seconds that it has taken, the question that it
    waits with, and its result when there is one.
    """

    asking: Asking[T]
    engine: TextEngine | None
    seconds: float = 0.0
    question: Question | None = None
    results: list[T] = field(default_factory=list)

    def go_on(self, answer: Neighbourhood | None) -> None:
        """Hand over an answer, None at the start; then there is a question or a result."""
        began = time.perf_counter()
        try:
            self.question = next(self.asking) if answer is None else self.asking.send(answer)
        except StopIteration as ended:
            self.results.append(ended.value)
        self.seconds += time.perf_counter() - began


def in_step(victim: Victim, searches: Iterator[Search[T]], *, together: int) -> Iterator[Search[T]]:
    """Searches as they end, each with its result; up to `together` are under way at once.

    Time spent on common answers is shared out by the number of texts asked about.
    """
    running: list[Search[T]] = []
    while True:
        answers: list[Neighbourhood | None] = list(_answers(victim, running))
        while len(running) < together and (search := next(searches, None)) is not None:
            running.append(search)
            answers.append(None)
        if not running:
            return
        for search, answer in zip(running, answers, strict=True):
            search.go_on(answer)
        yield from (search for search in running if search.results)
        running = [search for search in running if not search.results]


def _answers(victim: Victim, running: list[Search[T]]) -> list[Neighbourhood]:
    if not running:
        return []
    began = time.perf_counter()
    questions = [search.question for search in running if search.question is not None]
    found = victim.answers([search.engine for search in running], questions)
    each = (time.perf_counter() - began) / max(sum(map(len, questions)), 1)
    for search, question in zip(running, questions, strict=True):
        search.seconds += each * len(question)
    return found
