"""Enumeration: a callable is asked about every text that the cluster choices make, fewest changes first.

Texts of many reviews share batches; none is asked about twice in a batch; a text whose label has changed once is not
asked about again. The callable sees at most `max_queries` texts for one review: one with more combinations is not
begun.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sgbt.certify.black_box.edited import EditedText
from sgbt.certify.black_box.encoder import EncodedText

Ask = Callable[[Sequence[str]], np.ndarray]
"""Scores [texts, classes] of some texts."""
Swaps = dict[int, str]


@dataclass
class VersionSearch:
    """What is known of one text: the least margin so far, the texts asked about, the swaps that change its label."""

    encoded: EncodedText | EditedText
    label: int
    budget: int | None
    margin: float
    queries: int = 0
    radius: int = 0
    broken: Swaps | None = None
    seconds: float = 0.0
    _level: int = field(default=0, repr=False)

    def levels(self) -> int:
        """The largest number of changes that there is to try."""
        places = len(self.encoded.others)
        return places if self.budget is None else min(self.budget, places)

    def texts(self, changes: int) -> Iterator[tuple[VersionSearch, Swaps]]:
        """Every combination with exactly so many places changed; none once one has changed the label."""
        others = self.encoded.others
        for places in itertools.combinations(others, changes):
            for words in itertools.product(*(others[place] for place in places)):
                if self.broken is not None:
                    return
                yield self, dict(zip(places, words, strict=True))


def enumerate_all(searches: Sequence[VersionSearch], ask: Ask, *, slack: float, batch: int) -> None:
    """Try every combination of every search, level by level, and note what comes out."""
    for changes in range(1, max((each.levels() for each in searches), default=0) + 1):
        open_ = [each for each in searches if each.broken is None and changes <= each.levels()]
        stream = itertools.chain.from_iterable(each.texts(changes) for each in open_)
        while part := list(itertools.islice(stream, batch)):
            _ask(part, ask, slack)
        for each in open_:
            if each.broken is None:
                each.radius = changes


def _ask(part: list[tuple[VersionSearch, Swaps]], ask: Ask, slack: float) -> None:
    begun = time.perf_counter()
    written = [search.encoded.written(swaps) for search, swaps in part]
    places = {text: number for number, text in enumerate(dict.fromkeys(written))}
    scores = ask(list(places))
    for (search, swaps), text in zip(part, written, strict=True):
        margin = margin_of(scores[places[text]], search.label)
        search.queries += 1
        if search.broken is None:
            search.margin = min(search.margin, margin)
            if margin <= slack:
                search.broken = swaps
    spent = (time.perf_counter() - begun) / len(part)
    for search, _ in part:
        search.seconds += spent


def margin_of(scores: np.ndarray, label: int) -> float:
    """The label's score minus the largest other one."""
    return float(scores[label] - np.delete(scores, label).max())
