"""Vectors averaged over substitutes, and fewer directions of them."""

from __future__ import annotations

import numpy as np
import pytest

from sgbt.core.errors import EmbeddingError, LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import EmbeddingStart, SubstitutionTable, smoothed_vectors

VECTORS = EmbeddingTable(("one", "two", "three"), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 4]], dtype=np.float32))
TABLE = SubstitutionTable({"one": ("two", "absent"), "absent": ("three",)})


def test_a_word_takes_the_mean_of_itself_and_its_substitutes() -> None:
    found = smoothed_vectors(VECTORS, TABLE)
    assert found.vector("one").tolist() == [0.5, 0.5, 0.0]
    assert found.vector("two").tolist() == [0.0, 1.0, 0.0]
    assert found.vector("three").tolist() == [0.0, 0.0, 4.0]


def test_condensed_vectors_keep_distances_while_all_directions_are_kept_and_have_the_spread_asked_for() -> None:
    words = tuple(f"w{number}" for number in range(50))
    given = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32) * np.array([9, 5, 3, 1, 1, 1], np.float32)
    table = EmbeddingTable(words, given)
    whole = table.condensed(6, spread=2.0)
    assert np.sqrt((np.asarray(whole.vectors) ** 2).mean()) == pytest.approx(2.0, rel=1e-5)
    ratio = np.linalg.norm(whole.vector("w1") - whole.vector("w2")) / np.linalg.norm(given[1] - given[2])
    other = np.linalg.norm(whole.vector("w3") - whole.vector("w4")) / np.linalg.norm(given[3] - given[4])
    assert ratio == pytest.approx(other, rel=1e-5)
    first = np.asarray(table.condensed(1, spread=1.0).vectors)[:, 0]
    assert abs(np.corrcoef(first, given[:, 0])[0, 1]) > 0.95
    with pytest.raises(EmbeddingError, match="a width from 1 to 6"):
        table.condensed(7, spread=1.0)


def test_a_start_does_what_it_says_and_nothing_by_default() -> None:
    assert EmbeddingStart().of(VECTORS, None) is VECTORS
    averaged = smoothed_vectors(VECTORS, TABLE)
    assert np.array_equal(EmbeddingStart(averaged=True).of(VECTORS, TABLE).vectors, averaged.vectors)
    both = EmbeddingStart(averaged=True, width=2, spread=0.5).of(VECTORS, TABLE)
    assert np.array_equal(both.vectors, averaged.condensed(2, spread=0.5).vectors)
    for wrong in ({"width": 0}, {"spread": 0.0}, {"spread": float("nan")}):
        with pytest.raises(LexiconError, match="a width of at least 1 and a spread above 0"):
            EmbeddingStart(**wrong)  # type: ignore[arg-type]
    with pytest.raises(LexiconError, match="substitutes to average over"):
        EmbeddingStart(averaged=True).of(VECTORS, None)
