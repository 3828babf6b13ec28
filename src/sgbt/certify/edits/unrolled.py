"""A lattice by the number of words written: what networks and n-grams, which read words in their order, walk along.

A vertex is a node of the lattice, what a path has used of its budgets, and how many words it has written. Words lead
from one layer of vertices to the next; edges that write nothing stay within a layer, and are taken together: from where
a word arrives they lead to every vertex that the next word may depart from. Paths through the layers are the paths of
the lattice within its budgets, each cut behind the words that a model reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.budgets import BudgetStates
from sgbt.threats.lattice import NOTHING, Lattice

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class UnrolledLayer:
    """One layer and the words that lead to the next one.

    Arrival `spread[0]` leads to departure `spread[1]` without a word. Departures `ends` end the text, with `used` as
    the state of budgets and `nodes` as their nodes. Edge e leads from departure `source[e]` to arrival `target[e]` of
    the next layer, writes a word of the set `choices[e]` and stands for the text's own word
    `stands_for[e]` (`Lattice`), or for none (-1) of those that the model reads.
    """

    arrivals: int
    departures: int
    spread: tuple[Ints, Ints]
    ends: Ints
    used: Ints
    nodes: Ints
    source: Ints
    target: Ints
    choices: Ints
    stands_for: Ints


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges of a lattice with every state of budgets: from `code` = node * states + state, grouped by node."""

    first: Ints
    target: Ints
    after: Ints
    choices: Ints
    stands_for: Ints

    @staticmethod
    def of(lattice: Lattice, states: BudgetStates, *, words: bool, reverse: bool) -> _Edges:
        chosen = ((lattice.choices != NOTHING) == words).nonzero()[0]
        source, target = lattice.source[chosen], lattice.target[chosen]
        if reverse:
            source, target = target, source
        order = np.argsort(source, kind="stable")
        chosen, source, target = chosen[order], source[order], target[order]
        after = states.step[:, lattice.kind[chosen], lattice.cost[chosen]]
        first = np.searchsorted(source, np.arange(lattice.nodes + 1))
        return _Edges(first, target, after, lattice.choices[chosen], lattice.stands_for[chosen])

    def out_of(self, codes: Ints, states: int) -> tuple[Ints, Ints, Ints]:
        """Of all vertices: the place of the vertex in `codes`, the edge, and the code behind it."""
        node, state = codes // states, codes % states
        row, edge = ranges(self.first[node], self.first[node + 1])
        after = self.after[state[row], edge]
        open_ = after >= 0
        row, edge, after = row[open_], edge[open_], after[open_]
        return row, edge, self.target[edge] * states + after


@dataclass(frozen=True, eq=False)
class _Layer:
    arrivals: Ints
    spread: tuple[Ints, Ints]
    departures: Ints
    source: Ints
    edge: Ints
    behind: Ints


def unrolled(lattice: Lattice, max_length: int) -> list[UnrolledLayer]:
    """The layers of a lattice, up to the words that a model reads."""
    states = BudgetStates.of(lattice)
    return _unrolled(
        lattice,
        states,
        starts=np.zeros(1, dtype=np.int64),
        last=lattice.nodes - 1,
        most=max_length,
        cut=True,
        reverse=False,
    )


def unrolled_backwards(
    lattice: Lattice, forwards: Sequence[UnrolledLayer], max_length: int
) -> list[list[UnrolledLayer]]:
    """The layers as a direction meets them that begins with the last word; `used` is then what the whole text took.

    The first walk is of texts that end with their last word. Where a text may be longer than a model reads, a second
    one begins behind the last word read, at any node where that may stand, and has `max_length` words.
    """
    states = BudgetStates.of(lattice)
    most = len(forwards) - 1
    walks = [(np.array([lattice.nodes - 1]), False)]
    if most == max_length:
        walks.append((np.unique(forwards[-1].nodes), True))
    found = [
        _unrolled(lattice, states, starts=starts * len(states), last=0, most=most, cut=False, reverse=True, whole=whole)
        for starts, whole in walks
    ]
    return [walk for walk in found if len(lengths_of(walk))]


def completable(lattice: Lattice, states: BudgetStates) -> Bools:
    """From which node, with which state of budgets, the last node can still be reached, [nodes * states]."""
    alive = np.zeros((lattice.nodes, len(states) + 1), dtype=bool)
    alive[-1, :-1] = True
    order = np.argsort(lattice.source, kind="stable")[::-1]
    after = states.step[:, lattice.kind, lattice.cost]
    after = np.where(after < 0, len(states), after)
    sources = lattice.source[order]
    begins = np.flatnonzero(np.concatenate([[True], sources[1:] != sources[:-1]])) if len(order) else order
    for edges in np.split(order, begins[1:]):
        node = lattice.source[edges[:1]]
        alive[node, :-1] |= alive[lattice.target[edges][:, None], after[:, edges].T].any(axis=0)
    return alive[:, :-1].ravel()


def _unrolled(
    lattice: Lattice,
    states: BudgetStates,
    *,
    starts: Ints,
    last: int,
    most: int,
    cut: bool,
    reverse: bool,
    whole: bool = False,
) -> list[UnrolledLayer]:
    """Layers from nodes in which nothing is used; with `cut` a text may end at any node behind `most` words, with
    `whole` it ends behind so many alone."""
    silent, written = (_Edges.of(lattice, states, words=words, reverse=reverse) for words in (False, True))
    size, arrivals = len(states), starts
    layers: list[_Layer] = []
    while len(arrivals):
        if len(layers) == most and cut:
            every = np.arange(len(arrivals))
            none = every[:0]
            layers.append(_Layer(arrivals, (every, every), arrivals, none, none, none))
            break
        spread, departures = _spread(silent, arrivals, size, lattice.nodes * size)
        source, edge, behind = written.out_of(departures, size)
        if len(layers) == most:
            source, edge, behind = source[:0], edge[:0], behind[:0]
        layers.append(_Layer(arrivals, spread, departures, source, edge, behind))
        arrivals = np.unique(behind)
    ends_at = [np.flatnonzero(layer.departures // size == last) for layer in layers]
    if cut and len(layers) > most:
        ends_at[most] = np.flatnonzero(completable(lattice, states)[layers[most].departures])
    if whole:
        ends_at = [ends if number == most else ends[:0] for number, ends in enumerate(ends_at)]
    return _pruned(layers, ends_at, written, size, most)


def _spread(silent: _Edges, arrivals: Ints, size: int, codes: int) -> tuple[tuple[Ints, Ints], Ints]:
    """Where arrivals lead without a word, as pairs ordered by the departure, and the departures."""
    known = fresh = np.arange(len(arrivals)) * codes + arrivals
    while len(fresh):
        at, _, behind = silent.out_of(fresh % codes, size)
        fresh = np.unique(fresh[at] // codes * codes + behind)
        fresh = fresh[~np.isin(fresh, known, assume_unique=True)]
        known = np.concatenate([known, fresh])
    departures, place = np.unique(known % codes, return_inverse=True)
    begin = known // codes
    order = np.lexsort((begin, place))
    return (begin[order], place[order]), departures


def _pruned(layers: list[_Layer], ends_at: list[Ints], written: _Edges, size: int, most: int) -> list[UnrolledLayer]:
    """Layers without the vertices from which no text ends, numbered from 0 in each layer."""
    found: list[UnrolledLayer] = []
    codes_behind, alive_behind = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    for layer, ends in zip(layers[::-1], ends_at[::-1], strict=True):
        alive = np.zeros(len(layer.departures), dtype=bool)
        alive[ends] = True
        source, edge, target = layer.source, layer.edge, np.searchsorted(codes_behind, layer.behind)
        if len(source):
            real = alive_behind[target]
            source, edge, target = source[real], edge[real], target[real]
            alive[source] = True
        begin, end = layer.spread
        begin, end = begin[alive[end]], end[alive[end]]
        reaching = np.zeros(len(layer.arrivals), dtype=bool)
        reaching[begin] = True
        departing, behind = alive.cumsum() - 1, alive_behind.cumsum() - 1
        order = np.argsort(target, kind="stable")
        source, edge, target = source[order], edge[order], target[order]
        found.append(
            UnrolledLayer(
                arrivals=int(reaching.sum()),
                departures=int(alive.sum()),
                spread=((reaching.cumsum() - 1)[begin], departing[end]),
                ends=departing[ends],
                used=layer.departures[ends] % size,
                nodes=layer.departures[ends] // size,
                source=departing[source],
                target=behind[target] if len(target) else target,
                choices=written.choices[edge],
                stands_for=np.where(written.stands_for[edge] < most, written.stands_for[edge], -1),
            )
        )
        codes_behind, alive_behind = layer.arrivals, reaching
    while len(found) > 1 and not found[0].arrivals:
        found.pop(0)
    return found[::-1]


def ranges(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """For every range the numbers in it, one range after another, each with the place of its range."""
    counts = stop - first
    row = np.repeat(np.arange(len(first)), counts)
    begin = counts.cumsum() - counts
    return row, np.arange(len(row)) - begin[row] + first[row]


def lengths_of(steps: Sequence[UnrolledLayer]) -> Ints:
    """The numbers of words that a text may have, as a model reads it."""
    return np.array([words for words, step in enumerate(steps) if len(step.ends)], dtype=np.int64)
