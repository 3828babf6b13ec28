"""Exact nearest neighbours of every vector among all, without a square matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats.table import SubstitutionTable, not_words

_QUERIES, _KEYS = 512, 8192
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
    one block, 512 x 8192 numbers, and of the answer.
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
        stop = min(start + _QUERIES, count)
        near, gaps, reliable = _search(
            points, squares.float(), start, stop, k=k, limit=distance**2 + slack, slack=slack
        )
        for at in np.flatnonzero(~reliable).tolist():
            near[at], gaps[at] = _search_one(points, start + at, k=k)
        exact = np.sqrt(gaps)
        rows[start:stop, :k] = np.where(exact <= distance, near, -1)
        distances[start:stop, :k] = np.where(exact <= distance, exact, np.inf)
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
    return 8 * (width + 4) * 2.0**-24 * largest_square


def _search(
    points: Tensor, squares: Tensor, start: int, stop: int, *, k: int, limit: float, slack: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """For rows `start` to `stop` their k nearest rows, squared distances, and whether none can have been missed.

    Whatever was not proposed is, in single precision, farther than `limit` or than the last candidate. So nothing was
    missed if the last candidate is beyond the limit, or beyond the k-th true distance by more than the slack.
    """
    queries, own = points[start:stop], squares[start:stop]
    wide = min(k + _SPARE, len(points) - 1)
    best = torch.full((len(queries), wide), torch.inf)
    where = torch.zeros((len(queries), wide), dtype=torch.int64)
    for first in range(0, len(points), _KEYS):
        keys = points[first : first + _KEYS]
        gaps = torch.addmm(squares[first : first + _KEYS], queries, keys.T, alpha=-2)
        if first < stop and start < first + len(keys):
            inside = torch.arange(max(start, first), min(stop, first + len(keys)))
            gaps[inside - start, inside - first] = torch.inf
        busy = torch.nonzero(gaps.amin(1) + own <= limit).flatten()
        near, at = gaps[busy].topk(min(wide, len(keys)), largest=False, sorted=False)
        best[busy], chosen = torch.cat([best[busy], near + own[busy, None]], 1).topk(wide, largest=False)
        where[busy] = torch.cat([where[busy], at + first], 1).gather(1, chosen)
    exact = torch.full(best.shape, torch.inf, dtype=torch.float64)
    query, slot = torch.nonzero(best <= limit, as_tuple=True)
    exact[query, slot] = _squared_distances(points, query + start, where[query, slot])
    order = np.lexsort((where.numpy(), exact.numpy()), axis=1)[:, :k]
    near_rows, near_gaps = np.take_along_axis(where.numpy(), order, 1), np.take_along_axis(exact.numpy(), order, 1)
    last = best[:, -1].double().numpy()
    reliable = (last > limit) | (near_gaps[:, -1] < last - slack) | (wide == len(points) - 1)
    return near_rows, near_gaps, reliable


def _squared_distances(points: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Squared distances of pairs of rows from differences in double precision."""
    parts = zip(first.split(_QUERIES), second.split(_QUERIES), strict=True)
    found = [(points[a].double() - points[b].double()).square().sum(1) for a, b in parts]
    return torch.cat(found) if found else torch.empty(0, dtype=torch.float64)


def _search_one(points: Tensor, query: int, *, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k nearest of one row, and their squared distances, from double precision differences with every other."""
    gaps = torch.cat([(part.double() - points[query].double()).square().sum(1) for part in points.split(_KEYS)]).numpy()
    gaps[query] = np.inf
    order = np.lexsort((np.arange(len(gaps)), gaps))[:k]
    return order, gaps[order]


def embedding_neighbours_table(
    vectors: EmbeddingTable, *, nearest: int, distance: float, normalised: bool
) -> SubstitutionTable:
    """The nearest words of each word, among those that are one token in lower case."""
    usable = single_words(vectors)
    points = (usable.normalised() if normalised else usable).vectors
    entries = neighbour_entries(usable.words, points, nearest=nearest, distance=distance)
    kind = "" if normalised else " of raw vectors"
    return SubstitutionTable(entries, f"neighbours in {vectors.name}{kind}, nearest {nearest} within {distance:g}")


def single_words(vectors: EmbeddingTable) -> EmbeddingTable:
    """The rows whose words can be substitutes at all, so that others do not take a place among the nearest."""
    wrong = not_words(vectors.words)
    return vectors.restricted_to(word for word in vectors.words if word not in wrong) if wrong else vectors


def neighbour_entries(
    words: tuple[str, ...], points: NDArray[np.float32], *, nearest: int, distance: float
) -> dict[str, tuple[str, ...]]:
    """For each word the words at the nearest points."""
    if nearest < 1:
        raise LexiconError(expected="at least 1 neighbour", got=str(nearest), where="nearest")
    if not distance > 0:
        raise LexiconError(expected="a distance above 0", got=str(distance), where="distance")
    found = nearest_neighbours(points, nearest=nearest, distance=distance)
    return {
        word: tuple(words[row] for row in rows if row >= 0)
        for word, rows in zip(words, found.rows.tolist(), strict=True)
        if rows[0] >= 0
    }
