"""The compiled reader of typing errors and the compiled worst path, against the plain ones (tests/reference)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worst_path as plain_path
from tests.reference.typo_reader import PlainLatticeMaker
from tests.threats.test_lattice import WORD_EDITS, drawn

from sgbt.certify.edits.worst_path import least_sums
from sgbt.data import Tokenizer
from sgbt.threats import LatticeMaker, Threat, Vocabulary
from sgbt.threats.near_words import NearWords, Strings, distance_up_to

WORDS = (
    "the",
    "then",
    "hen",
    "film",
    "fill",
    "ill",
    "a",
    "an",
    "is",
    "it",
    "not",
    "don",
    "n't",
    "'s",
    "5",
    "1,5",
    ".",
    "-",
)
TEXT = "The film isn't it, 1,5 - don't fil the.. hen's"


@settings(max_examples=80, deadline=None)
@given(drawn("ant's5,. ", 7), st.sampled_from((None, *WORD_EDITS)))
def test_the_same_texts_as_the_plain_reader(case: tuple[Vocabulary, str], other: Threat | None) -> None:
    """Of short texts, one error and word edits beside it."""
    vocabulary, text = case
    threat = Threat.typos(1) if other is None else Threat.typos(1) | other
    made = [each(threat, vocabulary, Tokenizer()).of(text).paths() for each in (LatticeMaker, PlainLatticeMaker)]
    assert made[0] == made[1]


@pytest.mark.parametrize("edits", [1, 2])
def test_the_same_least_sums_as_the_plain_reader_and_path(edits: int) -> None:
    """Of a text of common length, with random weights, after other texts have been read by the same makers."""
    vocabulary, random = Vocabulary(WORDS), np.random.default_rng(0)
    word = random.normal(size=(len(vocabulary), 3))
    for other in (None, *WORD_EDITS[2:5]):
        threat = Threat.typos(edits) if other is None else Threat.typos(edits) | other
        found = []
        for make, least in ((LatticeMaker, least_sums), (PlainLatticeMaker, plain_path.least_sums)):
            maker = make(threat, vocabulary, Tokenizer())
            lattices = [maker.of(text) for text in ("hen", TEXT, "", TEXT[5:20])]
            weights = np.array([word[list(maker.sets[number])].min(axis=0) for number in range(len(maker.sets))])
            columns = np.tile(np.arange(3), (len(lattices), 1))
            found.append(least(lattices, weights, columns, 9).sums.min(axis=1))
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


@given(st.lists(st.text("abc ", max_size=6), max_size=6), st.integers(0, 2))
def test_many_strings_at_once_have_the_near_words_of_each(texts: list[str], edits: int) -> None:
    index = NearWords(("a", "ab", "abc", "cab", "bb", "caba"))
    place, words, away = index.many(Strings.of(texts), edits)
    found = list(zip(place.tolist(), words.tolist(), away.tolist(), strict=True))
    assert sorted(found) == [
        (at, number, distance_up_to(text, word, edits))
        for at, text in enumerate(texts)
        for number, word in enumerate(index.words)
        if distance_up_to(text, word, edits) <= edits
    ]


@lru_cache
def _made() -> LatticeMaker:
    return LatticeMaker(Threat.typos(1), Vocabulary(WORDS), Tokenizer())


def test_what_is_known_of_stretches_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was too small is enlarged, without a change of what is found."""
    first = _made().of(TEXT)
    monkeypatch.setattr("sgbt.threats.typos.MOST_STRETCHES", 100)
    monkeypatch.setattr("sgbt.threats.typos.MANY", 10)
    for text in ("some other words", TEXT * 40):
        _made().of(text)
    again = _made().of(TEXT)
    for name in ("source", "target", "kind", "cost", "stands_for"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
