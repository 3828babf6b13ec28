"""Exact neighbour search against brute force in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable
from sgbt.threats import neighbours as module
from sgbt.threats.neighbours import nearest_neighbours, pairs_within


def brute_force(vectors: np.ndarray, *, nearest: int, distance: float) -> list[list[int]]:
    points = vectors.astype(np.float64)
    answer = []
    for row, point in enumerate(points):
        gaps = np.sqrt(((points - point) ** 2).sum(1))
        order = sorted((gap, other) for other, gap in enumerate(gaps) if other != row and gap <= distance)
        answer.append([other for _, other in order[:nearest]])
    return answer


def found(vectors: np.ndarray, *, nearest: int, distance: float) -> list[list[int]]:
    rows = nearest_neighbours(vectors, nearest=nearest, distance=distance).rows
    return [[other for other in row if other >= 0] for row in rows.tolist()]


@given(
    count=st.integers(0, 40),
    width=st.integers(1, 4),
    nearest=st.integers(1, 12),
    distance=st.sampled_from([0.1, 1.0, 2.0, np.inf]),
    coarse=st.booleans(),
    seed=st.integers(0, 2**16),
)
@settings(deadline=None)
def test_equals_brute_force_with_many_ties(
    count: int, width: int, nearest: int, distance: float, coarse: bool, seed: int
) -> None:
    drawn = np.random.default_rng(seed).normal(size=(count, width))
    vectors = (drawn.round() if coarse else drawn).astype(np.float32)
    assert found(vectors, nearest=nearest, distance=distance) == brute_force(
        vectors, nearest=nearest, distance=distance
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    monkeypatch.setattr(module, "_QUERIES", 13)
    monkeypatch.setattr(module, "_KEYS", 17)
    vectors = (np.random.default_rng(1).normal(size=(200, 8)) * scale).astype(np.float32)
    vectors[50:90] = vectors[10]  # forty equal vectors: more than the spare candidates
    assert found(vectors, nearest=5, distance=2 * scale) == brute_force(vectors, nearest=5, distance=2 * scale)


def test_vectors_closer_than_single_precision_can_tell() -> None:
    vectors = np.ones((60, 50), dtype=np.float32)
    vectors[:, 0] += np.random.default_rng(2).permutation(60).astype(np.float32) * np.float32(2e-7)
    assert found(vectors, nearest=4, distance=1.0) == brute_force(vectors, nearest=4, distance=1.0)


def test_distances_are_those_of_the_rows() -> None:
    answer = nearest_neighbours(np.array([[0], [3], [7]], np.float32), nearest=5, distance=5)
    assert answer.rows.tolist() == [[1, -1, -1, -1, -1], [0, 2, -1, -1, -1], [1, -1, -1, -1, -1]]
    assert answer.distances[1, :2].tolist() == [3, 4]


def test_pairs_within_a_cosine_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUERIES", 7)
    monkeypatch.setattr(module, "_KEYS", 11)
    vectors = np.random.default_rng(3).normal(size=(60, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    close = 1 - vectors @ vectors.T <= 0.2
    expected = [(i, j) for i in range(60) for j in range(i + 1, 60) if close[i, j]]
    assert sorted(map(tuple, pairs_within(vectors.astype(np.float32), cosine_distance=0.2).tolist())) == expected


def test_a_table_of_neighbours() -> None:
    vectors = np.array([[1, 0], [2, 0.1], [0, 1], [1, 0.01], [9, 0.2]], np.float32)
    table = EmbeddingTable(("film", "movie", "good", "motion picture", "Film"), vectors, "tiny")
    near = SubstitutionTable.embedding_neighbours(table, nearest=2, distance=0.5)
    assert dict(near.entries) == {"film": ("movie",), "movie": ("film",)}
    assert near.name == "neighbours in tiny, nearest 2 within 0.5"
    plain = SubstitutionTable.embedding_neighbours(table, nearest=2, distance=1.2, normalised=False)
    assert dict(plain.entries) == {"film": ("movie",), "movie": ("film",)}
    assert len(SubstitutionTable.embedding_neighbours(table, distance=1e-9)) == 0


@pytest.mark.parametrize(("nearest", "distance"), [(0, 0.5), (8, 0.0), (8, float("nan"))])
def test_senseless_limits_are_refused(nearest: int, distance: float) -> None:
    table = EmbeddingTable(("a", "b"), np.eye(2, dtype=np.float32))
    with pytest.raises(LexiconError):
        SubstitutionTable.embedding_neighbours(table, nearest=nearest, distance=distance)
