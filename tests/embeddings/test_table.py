from __future__ import annotations

import numpy as np
import pytest

from sgbt.core.errors import EmbeddingError
from sgbt.embeddings import CLITIC_ALIASES, EmbeddingTable


@pytest.fixture
def table() -> EmbeddingTable:
    vectors = np.array([[3, 4], [0, 2], [1, 0], [0, 0]], dtype=np.float32)
    return EmbeddingTable(("good", "not", "film", "zero"), vectors, "small")


def test_looks_up_words(table: EmbeddingTable) -> None:
    assert "film" in table
    assert "movie" not in table
    assert len(table) == 4
    assert table.width == 2
    assert table.vector("good").tolist() == [3, 4]
    with pytest.raises(EmbeddingError, match="a word that has a vector, got 'movie' in small"):
        table.vector("movie")


def test_vectors_cannot_be_written(table: EmbeddingTable) -> None:
    with pytest.raises(ValueError, match="read-only"):
        table.vectors[0, 0] = 7


def test_normalised_has_unit_rows_and_keeps_zero(table: EmbeddingTable) -> None:
    lengths = np.linalg.norm(table.normalised().vectors, axis=1)
    assert lengths == pytest.approx([1, 1, 1, 0])
    assert table.normalised().vectors.dtype == np.float32


def test_restriction_keeps_the_tables_order(table: EmbeddingTable) -> None:
    small = table.restricted_to(["film", "nowhere", "good", "film"])
    assert small.words == ("good", "film")
    assert small.vector("film").tolist() == [1, 0]
    assert len(table.restricted_to([])) == 0


def test_matrix_rows_depend_only_on_word_and_seed(table: EmbeddingTable) -> None:
    first = table.matrix(["good", "unheard", "n't"], seed=3)
    again = table.matrix(["of", "unheard"], seed=3)
    assert first[0].tolist() == [3, 4]
    assert first[2].tolist() == [0, 2], "n't takes the vector of not"
    np.testing.assert_array_equal(first[1], again[1])
    assert np.abs(first[1] - table.matrix(["unheard"], seed=4)[0]).max() > 1e-3
    assert np.linalg.norm(first[1]) == pytest.approx(table.typical_length(), rel=1e-5)


def test_a_listed_clitic_keeps_its_own_vector() -> None:
    table = EmbeddingTable(("n't", "not"), np.eye(2, dtype=np.float32))
    assert table.matrix(["n't"], seed=0).tolist() == [[1, 0]]


def test_every_alias_is_a_full_word() -> None:
    assert set(CLITIC_ALIASES) == {"n't", "'ll", "'re", "'ve", "'m", "'d", "'s"}
    assert all(word.isalpha() for word in CLITIC_ALIASES.values())


def test_coverage_weighs_words_by_their_counts(table: EmbeddingTable) -> None:
    coverage = table.coverage({"good": 6, "n't": 2, "xyzzy": 1, "plugh": 1})
    assert coverage.own == 1
    assert coverage.aliased == ("n't",)
    assert coverage.missing == ("plugh", "xyzzy")
    assert coverage.share == pytest.approx(0.5)
    assert coverage.running_share == pytest.approx(0.8)
    assert str(coverage) == (
        "2 of 4 words have a vector (50.0%), 80.0% of running words (most frequent without: plugh xyzzy)"
    )
    assert table.coverage([]).share == 1


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (("a",), np.zeros((2, 3), np.float32), "one row for each of 1 words, got float32 of shape \\(2, 3\\)"),
        (("a",), np.zeros((1, 3)), "got float64"),
        (("a",), np.zeros(1, np.float32), "shape \\(1,\\)"),
        (("a", "a"), np.zeros((2, 3), np.float32), "distinct words, got 1 repeated"),
        (("a",), np.array([[np.nan]], np.float32), "finite numbers, got NaN"),
        (("a",), np.array([[-np.inf]], np.float32), "finite numbers"),
    ],
)
def test_an_invalid_table_cannot_be_built(words: tuple[str, ...], vectors: np.ndarray, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        EmbeddingTable(words, vectors)
