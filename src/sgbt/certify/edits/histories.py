"""The least value of all paths through the layers of a lattice, for what reads a few words in a row at a time.

Dynamic programming: of all paths to a vertex that end with the same last symbols only the least counts, for whatever
follows adds the same to each. Symbols are what a model distinguishes: codes, words, or sets of words. Memory is
bounded: where a layer has more than `MOST` such histories, those of the least values are kept, and of the others the
history is dropped, at a price that what they begin can never exceed. That lowers the bound and never makes it false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sgbt.certify.edits.unrolled import UnrolledLayer, ranges
from sgbt.threats.lattice import ChoiceSets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 1 << 21
"""Histories of one layer, in numbers: each has as many as the model has columns."""
AT_ONCE = 1 << 20
"""Continuations that are looked at together, in the same numbers."""
RUNS = 8
"""More than any reader counts of kept words in a row."""


class Reader(Protocol):
    """What a model makes of words in a row. A history packs the last symbols, `bits` each, the last one lowest."""

    @property
    def bits(self) -> int:
        """Of one symbol."""
        ...

    @property
    def span(self) -> int:
        """How many symbols a history has at most."""
        ...

    @property
    def columns(self) -> int:
        """How many numbers a path has a value of."""
        ...

    @property
    def counted(self) -> int:
        """How many of the text's own words in a row are distinguished where they, or words like them, were kept."""
        ...

    @property
    def read(self) -> Ints:
        """The symbols of the text's own words, and -1 behind them; asked for where they are `counted`."""
        ...

    def shortened(self, history: Ints) -> Ints:
        """Histories without what can make no difference."""
        ...

    def joined(self, value: Floats, history: Ints, symbol: Ints, kept: Ints, words: int) -> Floats:
        """Values after one more symbol, behind `words` others. `kept` says which of the text's own words was kept last,
        plus one, times `RUNS`, and how many were in a row, no more than `counted`; 0 for none."""
        ...

    def ended(self, value: Floats, history: Ints, words: int) -> Floats:
        """Values of texts that end so."""
        ...

    def dropped(self, value: Floats, history: Ints) -> Floats:
        """Values that are no greater whatever follows, when the history is forgotten."""
        ...


@dataclass(frozen=True, eq=False)
class Items:
    """Paths up to a vertex, with the same history and mark."""

    vertex: Ints
    mark: Ints
    history: Ints
    value: Floats

    @staticmethod
    def merged(vertex: Ints, mark: Ints, history: Ints, value: Floats) -> Items:
        """Of those that are the same, the least values."""
        histories, number = np.unique(history, return_inverse=True)
        marks, place = np.unique(mark, return_inverse=True)
        key = (vertex * len(marks) + place) * len(histories) + number
        order = np.argsort(key, kind="stable")
        key = key[order]
        begin = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else order
        least = np.minimum.reduceat(value[order], begin, axis=0) if len(key) else value
        rows = order[begin]
        return Items(vertex[rows], mark[rows], history[rows], least)

    def __len__(self) -> int:
        return len(self.vertex)

    def rows(self, chosen: Ints) -> tuple[Ints, Ints, Ints, Floats]:
        """Some of them."""
        return self.vertex[chosen], self.mark[chosen], self.history[chosen], self.value[chosen]


def least_values(
    steps: Sequence[UnrolledLayer], symbols: Mapping[int, Ints], reader: Reader, *, start: float = 0.0
) -> dict[int, Floats]:
    """For every number of words that a text may have, the least values of such texts, [columns].

    `symbols` are those of every set of words, each once; `start` is the value of a path without words.
    """
    zero = np.zeros(1, dtype=np.int64)
    items = Items(zero, zero, zero, np.full((1, reader.columns), start))
    found: dict[int, Floats] = {}
    for words, step in enumerate(steps):
        items = _departing(items, step)
        ending = np.isin(items.vertex, step.ends)
        if ending.any():
            found[words] = reader.ended(items.value[ending], items.history[ending], words).min(axis=0)
        if not len(step.source):
            break
        items = _arriving(_within(items, reader), step, symbols, reader, words)
    return found


def _departing(items: Items, step: UnrolledLayer) -> Items:
    """Along the edges that write nothing."""
    order = np.argsort(step.spread[0], kind="stable")
    begin, end = step.spread[0][order], step.spread[1][order]
    bounds = np.searchsorted(begin, np.arange(step.arrivals + 1))
    row, pair = ranges(bounds[items.vertex], bounds[items.vertex + 1])
    return Items.merged(end[pair], *items.rows(row)[1:])


def _within(items: Items, reader: Reader) -> Items:
    """No more than may be kept; of the others the histories are dropped."""
    room = max(MOST // reader.columns, 1)
    if len(items) <= room:
        return items
    order = np.argsort(items.value.min(axis=1), kind="stable")
    keep, cut = np.sort(order[:room]), np.sort(order[room:])
    vertex, mark, history, value = items.rows(cut)
    forgotten = np.zeros_like(history)
    value = reader.dropped(value, history)
    kept = Items(*items.rows(keep))
    return _together([kept, Items(vertex, np.zeros_like(mark), forgotten, value)])


def _arriving(items: Items, step: UnrolledLayer, symbols: Mapping[int, Ints], reader: Reader, words: int) -> Items:
    """Along every edge and every symbol that it may write."""
    order = np.argsort(step.source, kind="stable")
    chosen = [symbols[number] for number in step.choices[order].tolist()]
    counts = np.array([len(each) for each in chosen])
    edge, symbol = np.repeat(order, counts), np.concatenate(chosen)
    bounds = np.searchsorted(step.source[edge], np.arange(step.departures + 1))
    first, stop = bounds[items.vertex], bounds[items.vertex + 1]
    ahead = (stop - first).cumsum() * reader.columns
    parts: list[Items] = []
    begin = 0
    while begin < len(items):
        done = ahead[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ahead, done + AT_ONCE, side="right")), begin + 1)
        row, entry = ranges(first[begin:end], stop[begin:end])
        if not len(row):
            begin = end
            continue
        _, mark, history, value = items.rows(row + begin)
        if reader.counted:
            place = step.stands_for[edge[entry]]
            mark = _marked(mark, np.where(reader.read[place] == symbol[entry], place, -1), reader.counted)
        else:
            mark = np.zeros_like(mark)
        value = reader.joined(value, history, symbol[entry], mark, words)
        wide = (history << reader.bits | symbol[entry]) & (1 << reader.bits * reader.span) - 1
        parts.append(Items.merged(step.target[edge[entry]], mark, reader.shortened(wide), value))
        if sum(map(len, parts)) * reader.columns > 2 * MOST:
            parts = [_within(_together(parts), reader)]
        begin = end
    return _together(parts)


def _together(parts: Sequence[Items]) -> Items:
    if len(parts) == 1:
        return parts[0]
    return Items.merged(
        np.concatenate([part.vertex for part in parts]),
        np.concatenate([part.mark for part in parts]),
        np.concatenate([part.history for part in parts]),
        np.concatenate([part.value for part in parts]),
    )


def _marked(mark: Ints, keeps: Ints, counted: int) -> Ints:
    """Which of the text's own words was kept last, plus one, times `RUNS`, and how many in a row; 0 for none."""
    goes_on = (mark > 0) & (mark // RUNS == keeps)
    count = np.where(goes_on, np.minimum(mark % RUNS + 1, counted), 1)
    found: Ints = np.where(keeps >= 0, (keeps + 1) * RUNS + count, 0)
    return found


class Symbols(dict[int, Ints]):
    """The symbols of sets of words, found when they are asked for."""

    def __init__(self, sets: ChoiceSets, of: Callable[[Ints], Ints]) -> None:
        super().__init__()
        self._sets, self._of = sets, of

    def __missing__(self, number: int) -> Ints:
        found = self[number] = np.unique(self._of(np.array(self._sets[number])))
        return found


def most_histories(steps: Sequence[UnrolledLayer], symbols: Mapping[int, Ints], span: int) -> float:
    """How many histories a layer can have at most."""
    counts = np.ones((span + 1, steps[0].arrivals))
    found = 1.0
    for words, step in enumerate(steps):
        here = np.zeros((span + 1, step.departures))
        for row, known in zip(here, counts, strict=True):
            np.add.at(row, step.spread[1], known[step.spread[0]])
        found = max(found, float(here[min(words, span)].sum()))
        if not len(step.source):
            break
        many = np.array([len(symbols[number]) for number in step.choices.tolist()], dtype=float)
        counts = np.zeros((span + 1, steps[words + 1].arrivals))
        for size in range(1, span + 1):
            np.add.at(counts[size], step.target, here[size - 1, step.source] * many)
        counts[0] = 1.0
    return found
