"""Communities of a weighted graph by Louvain's method (Blondel et al. 2008).

Nodes are visited in a random order, again and again, and each moves to the neighbouring community that raises
modularity most; when none moves, communities become the nodes of a smaller graph, and so on while modularity grows.
The order of all visits and sums is that of `networkx.community.louvain_communities`, so that clusters of earlier
versions stay what they were: tests compare the two. Moves are compiled where Numba is installed, and are the same
without it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 1e-7
"""A level that raises modularity by no more is the last."""
WORTH_COMPILING = 20_000
"""From so many edges on, loading what was compiled takes less time than it saves."""

Ids = NDArray[np.int64]
Weights = NDArray[np.float64]
Moves = Callable[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """An undirected graph: edge k joins `ends[k]` (two nodes, the same one for a loop) and weighs `weights[k]`.

    Every pair of nodes has at most one edge. The order of edges decides which of two equally good moves is made.
    """

    nodes: int
    ends: NDArray[np.int64]
    weights: Weights

    @classmethod
    def of(cls, nodes: int, ends: Ids, weights: Weights) -> Graph:
        """Edges between the same two nodes are added up; each stands where its first part stood."""
        low, high = ends.min(axis=1), ends.max(axis=1)
        _, first, edge = np.unique(low * nodes + high, return_index=True, return_inverse=True)
        order = np.argsort(first)
        total = np.bincount(edge, weights, len(first)).astype(np.float64)  # adds in the order of edges
        return cls(nodes, np.stack([low, high], axis=1)[first[order]], total[order])

    def by_lower_end(self) -> Graph:
        """The same graph, its edges sorted by the lower of their two nodes."""
        order = np.argsort(self.ends[:, 0], kind="stable")
        return Graph(self.nodes, self.ends[order], self.weights[order])

    def merged(self, labels: Ids) -> Graph:
        """The graph of communities; `labels` [nodes] are 0, 1, ... without a gap."""
        edges = self.by_lower_end()
        return Graph.of(int(labels.max()) + 1, labels[edges.ends], edges.weights)


def louvain(graph: Graph, resolution: float, *, seed: int = 0) -> Ids:
    """The community of every node, [nodes]; a higher `resolution` makes them smaller."""
    labels = np.arange(graph.nodes)
    if not len(graph.weights):
        return labels
    moves = _compiled() if len(graph.weights) >= WORTH_COMPILING else _moves
    order = random.Random(seed)
    graph = graph.by_lower_end()
    degrees, total = _degrees(graph), None
    before = _modularity(graph, labels, degrees, resolution)
    while True:
        total = float(sum(degrees.tolist())) / 2 if total is None else total
        found = _one_level(graph, degrees, total, resolution, order, moves)
        labels = found[labels]
        after = _modularity(graph, found, degrees, resolution)
        if after - before <= THRESHOLD:
            return labels
        before, graph = after, graph.merged(found)
        degrees = _degrees(graph)


def modularity(graph: Graph, labels: Ids, resolution: float) -> float:
    """How much more weight lies within communities than would by chance (Newman 2004; Reichardt and Bornholdt 2006)."""
    return _modularity(graph, labels, _degrees(graph), resolution)


def _modularity(graph: Graph, labels: Ids, degrees: Weights, resolution: float) -> float:
    within = graph.weights[labels[graph.ends[:, 0]] == labels[graph.ends[:, 1]]].sum()
    whole = degrees.sum()
    return float(2 * within / whole - resolution * (np.bincount(labels, degrees) ** 2).sum() / whole**2)


def _degrees(graph: Graph) -> Weights:
    """The weight of all edges of each node; a loop counts twice."""
    one, other = graph.ends.T
    loop = one == other
    ends = np.stack([one, np.where(loop, graph.nodes, other)], axis=1)
    ends = np.concatenate([ends.ravel(), one[loop]])
    weights = np.concatenate([np.repeat(graph.weights, 2), graph.weights[loop]])
    return np.bincount(ends, weights, graph.nodes + 1)[: graph.nodes].astype(np.float64)


def _one_level(
    graph: Graph, degrees: Weights, total: float, resolution: float, order: random.Random, moves: Moves
) -> Ids:
    """The community of every node when none can move to a better one."""
    joins = graph.ends[:, 0] != graph.ends[:, 1]
    one, other = graph.ends[joins].T
    weights = np.repeat(graph.weights[joins], 2)
    source, target = np.stack([one, other], axis=1).ravel(), np.stack([other, one], axis=1).ravel()
    by_source = np.argsort(source, kind="stable")
    starts = np.concatenate([[0], np.bincount(source, minlength=graph.nodes).cumsum()])
    visits = list(range(graph.nodes))
    order.shuffle(visits)
    arrays: list[NDArray[Any]] = [starts, target[by_source], weights[by_source], degrees, np.array(visits)]
    arrays += [np.arange(graph.nodes), degrees.copy(), np.zeros(graph.nodes), np.zeros(graph.nodes, np.int64)]
    given: list[Any] = [each.tolist() for each in arrays] if moves is _moves else arrays
    moves(*given, float(resolution), total, 2 * total**2)
    return np.unique(np.asarray(given[5]), return_inverse=True)[1]


def _moves(
    starts: Sequence[int],
    targets: Sequence[int],
    weights: Sequence[float],
    degrees: Sequence[float],
    visits: Sequence[int],
    community: MutableSequence[int],
    strength: MutableSequence[float],
    shared: MutableSequence[float],
    near: MutableSequence[int],
    resolution: float,
    total: float,
    twice_squared: float,
) -> None:
    """Move nodes until none moves, in place.

    `community` [nodes] is what is found and `strength` [communities] the degrees in each. `shared` [communities], all
    zeros, is for the weight between the visited node and each community, and `near` for those where there is some.
    """
    moved = True
    while moved:
        moved = False
        for node in visits:
            own, degree, count, own_is_near = community[node], degrees[node], 0, False
            for place in range(starts[node], starts[node + 1]):
                other = community[targets[place]]
                if shared[other] == 0.0:
                    near[count] = other
                    count += 1
                    own_is_near |= other == own
                shared[other] += weights[place]
            if not own_is_near:
                near[count] = own
                count += 1
            strength[own] -= degree
            leaving = -shared[own] / total + resolution * (strength[own] * degree) / twice_squared
            best, gained = own, 0.0
            for place in range(count):
                other = near[place]
                gain = leaving + shared[other] / total - resolution * (strength[other] * degree) / twice_squared
                if gain > gained:
                    best, gained = other, gain
                shared[other] = 0.0
            strength[best] += degree
            if best != own:
                community[node] = best
                moved = True


@cache
def _compiled() -> Moves:
    """`_moves`, compiled if it can be."""
    try:
        import numba

        found: Moves = numba.njit(error_model="numpy", cache=True)(_moves)
    except (ImportError, RuntimeError):  # not installed, or nowhere to keep what is compiled
        return _moves
    return found
