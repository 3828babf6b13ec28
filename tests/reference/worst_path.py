"""The least sum of weights along the paths of many lattices at once, for every number of words that a path can write.

Nodes are taken in their order, the node of the same number in all texts together: what reaches a node is the least over
its edges of what reached their sources, in the state of budgets before, plus the weight of the word written. A model
divides by the root of the number of words and reads no more than its maximal length, so sums are kept apart by the
number of words. Every path is looked at, so the least is exact, up to rounding in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.budgets import BudgetStates
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import NOTHING, Lattice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeastSums:
    """`sums[t, k, c]` is the least sum of column c over the paths of text t that write `first[t] + k` words, infinite
    where there is none; words behind `max_length` add nothing."""

    sums: Floats
    first: Ints


@dataclass(frozen=True, eq=False)
class _Batch:
    """Edges of many lattices, ordered by their target's number; node n of text t is row `start[t] + n`."""

    source: Ints
    target: Ints
    writes: Ints
    choices: Ints
    text: Ints
    before: Ints
    """For every edge and every state behind it, the state before it; the number of states where there is none."""
    bounds: Ints
    """Where the edges into nodes of each number begin."""
    last: Ints
    rows: int
    states: int
    repeats: int

    @staticmethod
    def of(lattices: Sequence[Lattice]) -> _Batch:
        states = BudgetStates.of(*lattices)
        counts = np.array([lattice.nodes for lattice in lattices])
        start = counts.cumsum() - counts
        text = np.repeat(np.arange(len(lattices)), [len(lattice) for lattice in lattices])
        source, target, kind, cost, choices = (
            np.concatenate([getattr(lattice, name) for lattice in lattices])
            for name in ("source", "target", "kind", "cost", "choices")
        )
        loops = source == target
        order = np.lexsort((target + start[text], loops, target))
        bounds = np.searchsorted(target[order] * 2 + loops[order], np.arange(2 * counts.max() + 1))
        inverse = _inverse(states.step)
        return _Batch(
            source=(source + start[text])[order],
            target=(target + start[text])[order],
            writes=(choices != NOTHING).astype(np.int64)[order],
            choices=choices[order],
            text=text[order],
            before=inverse[kind[order], cost[order]],
            bounds=bounds,
            last=start + counts - 1,
            rows=int(counts.sum()),
            states=len(states),
            repeats=max([most for _, most in lattices[0].limited] + [lattices[0].total or 0], default=0),
        )


def _inverse(step: Ints) -> Ints:
    """[kinds, costs, states]: the state before an edit, or the number of states where there is none."""
    states, kinds, costs = step.shape
    found = np.full((len(KINDS) + 1, costs, states), states, dtype=np.int64)
    for state, kind, cost in np.ndindex(states, kinds, costs):
        if (after := step[state, kind, cost]) >= 0:
            found[kind, cost, after] = state
    return found


def least_sums(lattices: Sequence[Lattice], weights: Floats, columns: Ints, max_length: int) -> LeastSums:
    """The least sums of texts; `weights[s]` are the numbers of set s of words, `columns[t]` which of them count."""
    batch = _Batch.of(lattices)
    base, width = _lengths(batch)
    value = np.full((batch.rows, batch.states + 1, width + 1, columns.shape[1]), np.inf)
    first = batch.last - np.array([lattice.nodes for lattice in lattices]) + 1
    value[first, 0, 0] = 0.0
    shift = base[batch.source] + batch.writes - base[batch.target]
    slots = np.arange(width)[None, :] - shift[:, None]
    slots = np.where((slots < 0) | (slots >= width), width, slots)
    gains = np.where(batch.writes[:, None] > 0, weights[batch.choices[:, None], columns[batch.text]], 0.0)
    long = int(base.max()) + width > max_length
    for lo, hi, looped in _steps(batch):
        for _ in range(batch.repeats if looped else 1):
            found = value[batch.source[lo:hi, None, None], batch.before[lo:hi, :, None], slots[lo:hi, None, :]]
            gain = gains[lo:hi, None, None, :]
            if long:
                at = base[batch.source[lo:hi], None] + slots[lo:hi]
                gain = np.where((at < max_length)[:, None, :, None], gain, 0.0)
            found += gain
            _take_least(value[:, : batch.states, :width], batch.target[lo:hi], found, looped)
    return LeastSums(value[batch.last, : batch.states, :width].min(axis=1), base[batch.last])


def _steps(batch: _Batch) -> list[tuple[int, int, bool]]:
    """Ranges of edges that are taken together, and whether they come back to where they began."""
    pairs = zip(batch.bounds[:-1].tolist(), batch.bounds[1:].tolist(), strict=True)
    return [(lo, hi, bool(number % 2)) for number, (lo, hi) in enumerate(pairs) if hi > lo]


def _take_least(value: Floats, target: Ints, found: Floats, looped: bool) -> None:
    begin = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
    least = np.minimum.reduceat(found, begin, axis=0)
    rows = target[begin]
    value[rows] = np.minimum(value[rows], least) if looped else least


def _lengths(batch: _Batch) -> tuple[Ints, int]:
    """The fewest words with which each node can be reached, and how many numbers of words there are at most."""
    huge = 1 << 40
    fewest = np.full((batch.rows, batch.states + 1), huge)
    most = np.full((batch.rows, batch.states + 1), -huge)
    begins = np.concatenate([[0], batch.last[:-1] + 1])
    fewest[begins, 0] = most[begins, 0] = 0
    for lo, hi, looped in _steps(batch):
        for _ in range(batch.repeats if looped else 1):
            source, target = batch.source[lo:hi, None], batch.target[lo:hi]
            more = batch.writes[lo:hi, None]
            for known, sign in ((fewest, 1), (most, -1)):
                begin = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
                found = np.minimum.reduceat(sign * (known[source, batch.before[lo:hi]] + more), begin, axis=0)
                rows = target[begin]
                if looped:
                    found = np.minimum(found, sign * known[rows, : batch.states])
                known[rows, : batch.states] = sign * found
    base = np.minimum(fewest[:, : batch.states].min(axis=1), huge)
    reached = np.where(most[:, : batch.states] > -(huge >> 1), most[:, : batch.states] - base[:, None], 0)
    return base, int(reached.max()) + 1
