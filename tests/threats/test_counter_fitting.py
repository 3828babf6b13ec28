from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import CounterFitting, SubstitutionTable, read_wordnet
from sgbt.threats.counter_fitting import wordnet_constraints

NONE = np.empty((0, 2), dtype=np.int64)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def distance(points: np.ndarray, a: int, b: int) -> float:
    return float(1 - points[a] @ points[b])


@pytest.fixture
def space() -> np.ndarray:
    return unit(np.random.default_rng(0).normal(size=(12, 6))).astype(np.float32)


def slow_fit(vectors: np.ndarray, synonyms: np.ndarray, antonyms: np.ndarray, options: CounterFitting) -> np.ndarray:
    """The published procedure, one pair at a time, in double precision."""
    points = unit(vectors.astype(np.float64))
    opposed = {frozenset(pair) for pair in antonyms.tolist()}
    alike = {frozenset(pair) for pair in synonyms.tolist()} - opposed
    every = {frozenset((i, j)) for i in range(len(points)) for j in range(i)}
    kept = {p for p in every if distance(points, *p) <= options.neighbourhood} - opposed
    before = {pair: distance(points, *pair) for pair in kept}
    for _ in range(options.steps):
        shift, active = np.zeros_like(points), np.zeros(len(points))
        for pairs, weight, acts in (
            (opposed, options.antonym_weight, lambda pair, d: d < options.antonym_margin),
            (alike, -options.synonym_weight, lambda pair, d: d > options.synonym_margin),
            (kept, -options.preservation_weight, lambda pair, d: d > before[pair] + 1e-9),
        ):
            for pair in pairs:
                if acts(pair, distance(points, *pair)):
                    for x, y in (tuple(pair), tuple(pair)[::-1]):
                        shift[x] += weight * ((points[x] @ points[y]) * points[x] - points[y])
                        active[x] += 1
        points = unit(points + shift / np.maximum(active, 1)[:, None])
    return points


def test_equals_the_published_procedure_pair_by_pair(space: np.ndarray) -> None:
    synonyms = np.array([[0, 1], [1, 2], [3, 4], [5, 6]])
    antonyms = np.array([[0, 7], [3, 8], [6, 5]])
    options = CounterFitting(neighbourhood=0.6, synonym_margin=0.05, steps=5)
    fitted = options.fit(space, synonyms=synonyms, antonyms=antonyms)
    np.testing.assert_allclose(fitted, slow_fit(space, synonyms, antonyms, options), atol=2e-5)


def test_synonyms_draw_together_and_antonyms_part() -> None:
    start = unit(np.array([[1, 0.2, 0], [1, -0.2, 0.3], [0.2, 1, 0], [0.6, 1, 0.1]])).astype(np.float32)
    fitted = CounterFitting(steps=200).fit(start, synonyms=np.array([[0, 1]]), antonyms=np.array([[2, 3]]))
    assert distance(fitted, 0, 1) < 0.01 < distance(start, 0, 1)
    assert distance(start, 2, 3) < 0.2
    assert distance(fitted, 2, 3) >= 0.95
    assert np.linalg.norm(fitted, axis=1) == pytest.approx(1, abs=1e-6)


def test_neighbours_that_drift_apart_are_drawn_back() -> None:
    start = unit(np.array([[1, 0, 0], [1, 0.3, 0], [0.4, 0, 1]])).astype(np.float32)
    pull = {"synonyms": np.array([[0, 2]]), "antonyms": NONE}
    free = CounterFitting(preservation_weight=0).fit(start, **pull)
    kept = CounterFitting().fit(start, **pull)
    assert distance(free, 0, 1) > 2 * distance(start, 0, 1)
    assert distance(kept, 0, 1) < 1.5 * distance(start, 0, 1)


def test_a_pair_that_is_both_counts_as_antonym() -> None:
    start = unit(np.array([[1, 0.0], [1, 0.5]])).astype(np.float32)
    pair = np.array([[0, 1]])
    fitted = CounterFitting().fit(start, synonyms=pair, antonyms=pair)
    assert distance(fitted, 0, 1) > distance(start, 0, 1)


def test_without_constraints_nothing_moves(space: np.ndarray) -> None:
    fitted = CounterFitting().fit(3 * space, synonyms=NONE, antonyms=NONE)
    np.testing.assert_allclose(fitted, space, atol=1e-6)


def test_the_published_settings() -> None:
    options = CounterFitting()
    assert (options.antonym_margin, options.synonym_margin, options.neighbourhood) == (1.0, 0.0, 0.2)
    assert (options.antonym_weight, options.synonym_weight, options.preservation_weight) == (0.1, 0.1, 0.1)
    assert options.steps == 20


@pytest.mark.parametrize("wrong", [{"antonym_margin": 3}, {"steps": -1}, {"neighbourhood": -0.1}])
def test_senseless_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(LexiconError, match=next(iter(wrong))):
        CounterFitting(**wrong)


WORDS = (
    "film",
    "movie",
    "films",
    "movies",
    "loved",
    "hated",
    "hates",
    "adored",
    "good",
    "bad",
    "better",
    "jazz",
    "love",
)


@pytest.fixture
def vectors() -> EmbeddingTable:
    drawn = np.random.default_rng(4).normal(size=(len(WORDS), 5)) * 0.4 + 1
    drawn[WORDS.index("jazz")] = -1
    return EmbeddingTable(WORDS, drawn.astype(np.float32), "tiny")


def test_constraints_reach_inflected_words(small_wordnet: Path, vectors: EmbeddingTable) -> None:
    found = wordnet_constraints(read_wordnet(small_wordnet), vectors, least_similarity=0.2)
    named = [{frozenset((WORDS[a], WORDS[b])) for a, b in pairs.tolist()} for pairs in (found.synonyms, found.antonyms)]
    assert named[0] == {frozenset(pair) for pair in (("film", "movie"), ("films", "movies"), ("loved", "adored"))}
    assert {frozenset(pair) for pair in (("loved", "hated"), ("loved", "hates"), ("love", "hated"))} <= named[1]
    assert {frozenset(pair) for pair in (("good", "bad"), ("better", "bad"))} <= named[1]
    everything = wordnet_constraints(read_wordnet(small_wordnet), vectors, least_similarity=-1)
    assert len(everything.synonyms) == 4, "with the rare sense that love and jazz share"


def test_a_table_from_vectors_and_wordnet(small_wordnet: Path, vectors: EmbeddingTable, cache: Path) -> None:
    wordnet = read_wordnet(small_wordnet)
    table = SubstitutionTable.counter_fit(vectors, wordnet, nearest=8, distance=2.0)
    assert "movie" in table.substitutes("film")
    assert "bad" not in table.substitutes("good"), "an antonym never, however near it stayed"
    assert "loved" not in table.substitutes("hates")
    assert table.name == "counter-fitted here (tiny, WordNet), nearest 8 within 2"
    (kept,) = cache.rglob("*.json.gz")
    written = kept.stat().st_mtime_ns
    assert SubstitutionTable.counter_fit(vectors, wordnet, nearest=8, distance=2.0) == table
    assert kept.stat().st_mtime_ns == written, "the second time it was read"
    kept.write_bytes(kept.read_bytes()[:40])
    again = SubstitutionTable.counter_fit(vectors, wordnet, nearest=8, distance=2.0)
    assert dict(again.entries) == dict(table.entries)
    numbers = EmbeddingTable((*WORDS, "7", "8th"), np.concatenate([vectors.vectors, np.ones((2, 5), np.float32)]))
    assert "7" not in SubstitutionTable.counter_fit(numbers, wordnet, distance=2.0), "near, but never the same"
    closer = SubstitutionTable.counter_fit(vectors, wordnet, nearest=1, distance=2.0)
    assert closer.describe().maximum == 1
