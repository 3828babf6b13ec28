"""The least sum of weights along the paths of lattices, for every number of words that a path can write.

Edges are taken in the order of the nodes that they lead to: what reaches a node is the least over its edges of what
reached their sources, in the state of budgets before, plus the weight of the word written. A model divides by the root
of the number of words and reads no more than its maximal length, so sums are kept apart by the number of words. Every
path is looked at, so the least is exact, up to rounding in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbt.core.compiled import compiled
from sgbt.threats.budgets import BudgetStates
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import Lattice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LeastSums:
    """`sums[t, k, c]` is the least sum of column c over the paths of text t that write `first[t] + k` words, infinite
    where there is none; words behind `max_length` add nothing."""

    sums: Floats
    first: Ints


class Edges(NamedTuple):
    """Those of a lattice, by their target; `before[e, s]` is the state of budgets before edge e where s is behind it,
    or the number of states where there is none."""

    source: Array
    target: Array
    choices: Array
    before: Array


def _inverse(step: Ints) -> Ints:
    """[kinds, costs, states]: the state before an edit, or the number of states where there is none."""
    found = np.full((len(KINDS) + 1, step.shape[2], len(step)), len(step), dtype=np.int64)
    state, kind, cost = (step >= 0).nonzero()
    found[kind, cost, step[state, kind, cost]] = state
    return found


def least_sums(lattices: Sequence[Lattice], weights: Floats, columns: Ints, max_length: int) -> LeastSums:
    """The least sums of texts; `weights[s]` are the numbers of set s of words, `columns[t]` which of them count."""
    states = BudgetStates.of(*lattices)
    inverse, found = _inverse(states.step), []
    repeats = max([most for _, most in lattices[0].limited] + [lattices[0].total or 0], default=0)
    for lattice, own in zip(lattices, columns, strict=True):
        loops = lattice.source == lattice.target
        sorted_so = not loops.any() and bool((np.diff(lattice.target) >= 0).all())
        order = slice(None) if sorted_so else np.lexsort((loops, lattice.target))
        kind, cost = lattice.kind[order], lattice.cost[order]
        edges = Edges(lattice.source[order], lattice.target[order], lattice.choices[order], inverse[kind, cost])
        fewest, most = _lengths(edges, lattice.nodes, len(states), repeats)
        width = int((most - fewest).max()) + 1
        value = np.full((lattice.nodes, len(states), width, len(own)), np.inf)
        _walk(edges, fewest, weights, own, value, repeats, max_length)
        found.append((value[-1].min(axis=0), int(fewest[-1])))
    sums = np.full((len(found), max(len(each) for each, _ in found), columns.shape[1]), np.inf)
    for text, (each, _) in enumerate(found):
        sums[text, : len(each)] = each
    return LeastSums(sums, np.array([first for _, first in found]))


@compiled
def _end_of_group(edges: Edges, begin: int, nodes: int) -> int:
    """Where the edges end that lead to the same node, and do, or do not, come from it."""
    end = begin + 1
    loop = edges.source[begin] == edges.target[begin]
    while (
        end < len(edges.target)
        and edges.target[end] == edges.target[begin]
        and (edges.source[end] == edges.target[end]) == loop
    ):
        end += 1
    return end


@compiled
def _lengths(edges: Edges, nodes: int, states: int, repeats: int) -> tuple[Array, Array]:
    """The fewest and most words with which each node can be reached, 0 and 0 where it cannot."""
    huge = 1 << 40
    fewest, most = np.full((nodes, states), huge), np.full((nodes, states), -huge)
    fewest[0, 0] = most[0, 0] = 0
    begin = 0
    while begin < len(edges.target):
        end = _end_of_group(edges, begin, nodes)
        for _ in range(repeats if edges.source[begin] == edges.target[begin] else 1):
            for edge in range(begin, end):
                source, target, more = edges.source[edge], edges.target[edge], int(edges.choices[edge] >= 0)
                for state in range(states):
                    before = edges.before[edge, state]
                    if before < states and most[source, before] >= 0:
                        fewest[target, state] = min(fewest[target, state], fewest[source, before] + more)
                        most[target, state] = max(most[target, state], most[source, before] + more)
        begin = end
    first, last = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for node in range(nodes):
        if most[node].max() >= 0:
            first[node], last[node] = fewest[node].min(), most[node].max()
    return first, last


@compiled
def _walk(edges: Edges, fewest: Array, weights: Array, own: Array, value: Array, repeats: int, max_length: int) -> None:
    """Least sums at every node, state and number of words above the fewest, [nodes, states, numbers, columns]."""
    nodes, states, width, columns = value.shape
    value[0, 0, 0] = 0.0
    begin = 0
    while begin < len(edges.target):
        end = _end_of_group(edges, begin, nodes)
        for _ in range(repeats if edges.source[begin] == edges.target[begin] else 1):
            for edge in range(begin, end):
                source, target, choices = edges.source[edge], edges.target[edge], edges.choices[edge]
                writes = int(choices >= 0)
                shift = fewest[source] + writes - fewest[target]
                for state in range(states):
                    before = edges.before[edge, state]
                    if before == states:
                        continue
                    for behind in range(max(shift, 0), width):
                        at = behind - shift
                        if at >= width:
                            break
                        counts = writes and fewest[source] + at < max_length
                        for column in range(columns):
                            total = value[source, before, at, column]
                            if counts:
                                total += weights[choices, own[column]]
                            if total < value[target, state, behind, column]:
                                value[target, state, behind, column] = total
        begin = end
