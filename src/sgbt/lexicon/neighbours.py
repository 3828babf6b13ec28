"""Exact nearest neighbours of every vector among all, without a square matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_QUERIES, _KEYS = 1024, 16384
_SPARE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For every row the rows nearest to it, nearest first: `rows` and `distances` are [n, k], rows are -1 after the
    last neighbour within the distance asked for."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]


def nearest_neighbours(vectors: NDArray[np.float32], *, nearest: int, distance: float) -> Neighbours:
    """The `nearest` other rows within Euclidean `distance` of each row, exactly.

    Algorithm: products of a block of queries with a block of keys in single precision propose a few more candidates
    than asked for; their distances are then computed from differences in double precision, and ties are broken by row
    number. Single precision can misplace a row by at most `slack`; where that could have pushed a true neighbour out of
    the candidates (many vectors at the same distance) the row is searched again in double precision. Memory is that of
    one block, 1024 x 16384 numbers, and of the answer.
    """
    points = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32).copy())
    count = len(points)
    k = min(nearest, max(count - 1, 0))
    rows = np.full((count, nearest), -1, dtype=np.int64)
    distances = np.full((count, nearest), np.inf)
    if k == 0:
        return Neighbours(rows, distances)
    squares = points.double().square().sum(1)
    slack = _rounding_slack(points.shape[1], float(squares.max()))
    for start in range(0, count, _QUERIES):
        queries = torch.arange(start, min(start + _QUERIES, count))
        found, reliable = _search(points, squares.float(), queries, k=k, slack=slack)
        for at in torch.nonzero(~reliable).flatten().tolist():
            found.rows[at], found.distances[at] = _search_one(points, int(queries[at]), k=k)
        inside = found.distances <= distance
        rows[start : start + len(queries), :k] = np.where(inside, found.rows, -1)
        distances[start : start + len(queries), :k] = np.where(inside, found.distances, np.inf)
    return Neighbours(rows, distances)


def pairs_within(vectors: NDArray[np.float32], *, cosine_distance: float) -> NDArray[np.int64]:
    """All pairs of rows i < j of unit vectors within a cosine distance of each other, as an array [pairs, 2]."""
    points = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32).copy())
    found = []
    for start in range(0, len(points), _QUERIES):
        queries = points[start : start + _QUERIES]
        for first in range(start, len(points), _KEYS):
            scores = queries @ points[first : first + _KEYS].T
            busy = torch.nonzero(scores.amax(1) >= 1 - cosine_distance).flatten()
            hits = torch.nonzero(scores[busy] >= 1 - cosine_distance)
            pairs = torch.stack([busy[hits[:, 0]] + start, hits[:, 1] + first], dim=1)
            found.append(pairs[pairs[:, 0] < pairs[:, 1]])
    return torch.cat(found).numpy() if found else np.empty((0, 2), dtype=np.int64)


def _rounding_slack(width: int, largest_square: float) -> float:
    """How far a squared distance |x|^2 + |y|^2 - 2 x.y in single precision can be from the true one."""
    return 4 * (width + 4) * 2.0**-24 * largest_square


def _search(points: Tensor, squares: Tensor, queries: Tensor, *, k: int, slack: float) -> tuple[Neighbours, Tensor]:
    """The k nearest of a block of queries, and for each whether single precision could not have missed one."""
    wide = min(k + _SPARE, len(points) - 1)
    best = torch.full((len(queries), wide), torch.inf)
    where = torch.full((len(queries), wide), -1)
    for first in range(0, len(points), _KEYS):
        keys = slice(first, first + _KEYS)
        gaps = squares[keys].sub(points[queries] @ points[keys].T, alpha=2).add_(squares[queries, None])
        inside = torch.nonzero((queries >= first) & (queries < first + gaps.shape[1])).flatten()
        gaps[inside, queries[inside] - first] = torch.inf
        near, at = gaps.topk(min(wide, gaps.shape[1]), largest=False, sorted=False)
        best, chosen = torch.cat([best, near], 1).topk(wide, largest=False)
        where = torch.cat([where, at + first], 1).gather(1, chosen)
    last_kept = best[:, -1].double()
    exact = (points[where].double() - points[queries, None].double()).square().sum(2)
    exact[torch.isinf(best)] = torch.inf
    order = np.lexsort((where.numpy(), exact.numpy()), axis=1)[:, :k]
    rows, gaps_exact = np.take_along_axis(where.numpy(), order, 1), np.take_along_axis(exact.numpy(), order, 1)
    everything = wide == len(points) - 1
    reliable = torch.from_numpy(gaps_exact[:, -1]) < last_kept - slack if not everything else last_kept > -1
    return Neighbours(rows, np.sqrt(gaps_exact)), reliable


def _search_one(points: Tensor, query: int, *, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k nearest of one row from double precision differences with every other."""
    gaps = torch.cat([(part.double() - points[query].double()).square().sum(1) for part in points.split(_KEYS)]).numpy()
    gaps[query] = np.inf
    order = np.lexsort((np.arange(len(gaps)), gaps))[:k]
    return order, np.sqrt(gaps[order])
