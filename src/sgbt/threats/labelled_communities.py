"""Communities of substitutes that do not mix words of different labels.

Louvain's method (`sgbt.threats.codes`) sees links alone: where a chain of substitutes leads from good to bad, coarse
communities make both one code, and fine ones leave many words ambiguous. Here a community also pays for what it leaves
unknown of the labels: H(n) = n log n - sum over k of n[k] log n[k], its words occurring n[k] times in train texts of
label k, n times in all. Merging never lowers the sum of H. What is maximised is, over all communities,

    weight of links within - resolution * strength^2 / (2 * weight of all links) - label_weight * H,

strength being the weight of all links of a community's words, those within twice. A link weighs as much as the replaced
word occurs, so each part is counted in occurrences. A certificate holds whatever the communities are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.codes import substitution_graph
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

Ids = NDArray[np.int64]
Numbers = NDArray[np.float64]
ROUNDS = 30
"""Visits of every node on one level, at most."""
FEW = 0.0005
"""A level is done when no more than this share of its nodes has moved in a round."""
LEAST_GAIN = 1e-9


def labelled_codes(
    vocabulary: Vocabulary,
    table: SubstitutionTable,
    counts: Mapping[str, int],
    by_label: NDArray[Any],
    *,
    resolution: float,
    label_weight: float,
) -> Ids:
    """The code of every id; codes are numbered from 2 by falling occurrence, 0 is padding and 1 unknown.

    `by_label` [ids, classes] is how often each word occurs in train texts of each label.
    """
    words = len(vocabulary)
    links, weights = substitution_graph(vocabulary, table, counts)
    found = labelled_communities(
        words, links[:, 0], links[:, 1], weights, by_label, resolution=resolution, label_weight=label_weight
    )
    return codes_by_occurrence(found, by_label.sum(axis=1))


def codes_by_occurrence(community: Ids, occurrences: Numbers) -> Ids:
    """Codes of the communities of all ids, numbered from 2 by falling occurrence, 0 being padding and 1 unknown."""
    found = community.copy()
    found[: UNKNOWN + 1] = -1
    _, first, community = np.unique(found, return_index=True, return_inverse=True)
    mass = np.bincount(community, occurrences)
    mass[0] = np.inf  # padding and the unknown word, which get codes of their own
    order = np.lexsort((first, -mass))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) + UNKNOWN
    codes = number[community]
    codes[: UNKNOWN + 1] = np.arange(UNKNOWN + 1)
    return codes


def labelled_communities(
    nodes: int,
    sources: Ids,
    targets: Ids,
    weights: Numbers,
    by_label: NDArray[Any],
    *,
    resolution: float,
    label_weight: float,
    seed: int = 0,
) -> Ids:
    """A number for the community of every node, by moves that raise the objective, level upon level."""
    labels, random = np.arange(nodes), np.random.default_rng(seed)
    graph = _added(nodes, np.append(sources, targets), np.append(targets, sources), np.append(weights, weights))
    strength = np.bincount(graph[0], graph[2], minlength=nodes)
    label_counts, total = np.ascontiguousarray(by_label, dtype=np.float64), float(strength.sum())
    while True:
        starts = np.searchsorted(graph[0], np.arange(nodes + 1))
        community = np.arange(nodes)
        lists = (starts, graph[1], graph[2], strength, label_counts, random.permutation(nodes), community)
        if total > 0:
            _compiled()(*lists, float(resolution), float(label_weight), total)
        kept, found = np.unique(community, return_inverse=True)
        labels = found[labels]
        if len(kept) == nodes:
            return labels
        nodes = len(kept)
        graph = _added(nodes, found[graph[0]], found[graph[1]], graph[2])
        strength = np.bincount(found, strength, nodes)
        label_counts = np.stack([np.bincount(found, column, nodes) for column in label_counts.T], axis=1)


def _added(nodes: int, sources: Ids, targets: Ids, weights: Numbers) -> tuple[Ids, Ids, Numbers]:
    """Links sorted by their ends, those with the same ends as one."""
    pairs, link = np.unique(sources * nodes + targets, return_inverse=True)
    return pairs // nodes, pairs % nodes, np.bincount(link, weights, len(pairs)).astype(np.float64)


def _moves(
    starts: Any,
    targets: Any,
    weights: Any,
    strength: Any,
    label_counts: Any,
    visits: Any,
    community: Any,
    resolution: float,
    label_weight: float,
    total: float,
) -> None:
    """Move nodes to neighbouring communities while the objective rises, in place of `community`.

    `unknown` is H of every community, and of one more: the own community of the visited node without it.
    """
    nodes, classes = label_counts.shape
    sums, counts = strength.copy(), label_counts.copy()
    shared, near, unknown = np.zeros(nodes), np.zeros(nodes + 1, np.int64), np.zeros(nodes)
    for node in range(nodes):
        unknown[node] = _unknown(label_counts[node])
    for _ in range(ROUNDS):
        moved = 0
        for node in visits:
            own, size = community[node], 1
            near[0] = own  # first, so that a node stays where no other community is better
            for place in range(starts[node], starts[node + 1]):
                other = community[targets[place]]
                if targets[place] == node:
                    continue
                if shared[other] == 0.0 and other != own:
                    near[size] = other
                    size += 1
                shared[other] += weights[place]
            sums[own] -= strength[node]
            for label in range(classes):
                counts[own, label] -= label_counts[node, label]
            unknown[own] = _unknown(counts[own])
            best, highest = own, -np.inf
            for place in range(size):
                other = near[place]
                gain = shared[other] - resolution * strength[node] * sums[other] / total
                gain -= label_weight * (_unknown(counts[other] + label_counts[node]) - unknown[other])
                if gain > highest + LEAST_GAIN:
                    best, highest = other, gain
                shared[other] = 0.0
            sums[best] += strength[node]
            for label in range(classes):
                counts[best, label] += label_counts[node, label]
            unknown[best] = _unknown(counts[best])
            if best != own:
                community[node] = best
                moved += 1
        if moved <= FEW * nodes:
            return


def _unknown(counts: Any) -> float:
    """H: how many nats of the labels of so many occurrences are unknown."""
    total, logs = 0.0, 0.0
    for count in counts:
        if count > 0.0:
            total += count
            logs += count * math.log(count)
    return total * math.log(total) - logs if total > 0.0 else 0.0


@cache
def _compiled() -> Callable[..., None]:
    """`_moves`, compiled where Numba is installed; the same moves without it, only slower."""
    try:
        import numba
    except ImportError:
        return _moves
    compiled: Any = numba.njit
    parts = {"_unknown": compiled(_unknown), "np": np, "ROUNDS": ROUNDS, "FEW": FEW, "LEAST_GAIN": LEAST_GAIN}
    found: Callable[..., None] = compiled(FunctionType(_moves.__code__, parts, "_moves"))
    return found
