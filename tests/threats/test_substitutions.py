"""Batches of allowed ids, against a twin that looks up one word at a time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.threats.strategies import WORDS, tables

from sgbt.core.errors import LexiconError
from sgbt.threats import PADDING, UNKNOWN, SubstitutionIndex, Substitutions, SubstitutionTable, Vocabulary

TEXTS = st.lists(st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=6), max_size=4)
VOCABULARIES = st.lists(st.sampled_from(WORDS), unique=True).map(lambda words: Vocabulary(tuple(words)))


def slow_choices(word: str, table: SubstitutionTable, vocabulary: Vocabulary) -> list[int]:
    """What a model can be shown where `word` stands, the word itself first."""
    choices: list[int] = []
    for candidate in (word, *table.substitutes(word)):
        number = vocabulary.words.index(candidate) + 2 if candidate in vocabulary.words else UNKNOWN
        if number not in choices:
            choices.append(number)
    return choices


@given(tables(), VOCABULARIES, TEXTS)
def test_equals_the_slow_twin(table: SubstitutionTable, vocabulary: Vocabulary, texts: list[list[str]]) -> None:
    found = SubstitutionIndex.build(table, vocabulary).for_words(texts)
    expected = [[slow_choices(word, table, vocabulary) for word in words] for words in texts]
    longest = max(map(len, texts), default=0)
    widest = max((len(choices) for words in expected for choices in words), default=1)
    assert found.ids.shape == (len(texts), longest, widest), "trimmed to the widest choice and the longest text"
    for text, words in enumerate(expected):
        for place in range(longest):
            choices = words[place] if place < len(words) else [PADDING]
            ids, allowed = found.ids[text, place], found.allowed[text, place]
            assert ids[allowed].tolist() == choices
            assert ids[~allowed].tolist() == [choices[0]] * (widest - len(choices)), "unused slots repeat the word"
    assert found.mask.sum() == sum(map(len, texts))


@given(tables(), VOCABULARIES, TEXTS)
def test_ids_agree_with_words_or_are_refused(
    table: SubstitutionTable, vocabulary: Vocabulary, texts: list[list[str]]
) -> None:
    index = SubstitutionIndex.build(table, vocabulary)
    by_words = index.for_words(texts)
    replaceable_unknown = any(word in table and word not in vocabulary for words in texts for word in words)
    try:
        by_ids = index.for_ids(by_words.original)
    except LexiconError:
        assert not index.complete
        assert (by_words.original == UNKNOWN).any()
        fixed = index.for_ids(by_words.original, unknown_is_fixed=True)
        assert (fixed.choices[fixed.original == UNKNOWN] == 1).all()
    else:
        assert not replaceable_unknown, "an unknown word with substitutes must never pass for one without"
        assert torch.equal(by_ids.ids, by_words.ids)
        assert torch.equal(by_ids.allowed, by_words.allowed)


def test_a_word_outside_the_vocabulary_keeps_its_substitutes() -> None:
    """The model reads "flick" as unknown, but an adversary may write "film", which it knows."""
    table = SubstitutionTable({"flick": ("film", "picture")})
    index = SubstitutionIndex.build(table, Vocabulary(("film",)))
    found = index.for_words([["flick", "film", "other"]])
    assert [row[flags].tolist() for row, flags in zip(found.ids[0], found.allowed[0], strict=True)] == [
        [UNKNOWN, 2],
        [2],
        [UNKNOWN],
    ]
    assert not index.complete
    with pytest.raises(LexiconError, match="1 words with substitutes are not in the vocabulary"):
        index.for_ids(torch.tensor([[1, 2, 1]]))
    assert index.for_ids(torch.tensor([[2, 2, 0]])).choices.tolist() == [[1, 1, 1]]


def test_a_vocabulary_built_with_its_table_covers_every_word_of_train() -> None:
    table = SubstitutionTable({"film": ("movie",), "movie": ("film",), "rare": ("odd",)})
    vocabulary = Vocabulary.build({"film": 3}, table=table)
    index = SubstitutionIndex.build(table.restricted_to(vocabulary.words), vocabulary)
    assert index.complete
    assert index.for_ids(torch.tensor([[1, 2]])).choices.tolist() == [[1, 2]]


def test_substitutes_outside_the_vocabulary_count_once_as_unknown() -> None:
    table = SubstitutionTable({"film": ("movie", "flick", "picture")})
    found = SubstitutionIndex.build(table, Vocabulary(("film", "picture"))).for_words([["film"]])
    assert found.ids.tolist() == [[[2, UNKNOWN, 3]]]


def test_stop_words_are_never_replaced() -> None:
    table = SubstitutionTable({"film": ("movie",), "the": ("film",)})
    vocabulary = Vocabulary(("the", "film", "movie"))
    index = SubstitutionIndex.build(table, vocabulary, stop_words=["the"])
    assert index.for_words([["the", "film"]]).choices.tolist() == [[1, 2]]
    assert index.table.hash == table.without(["the"]).hash != table.hash, "certificates name the table that was used"


def test_rows_number_a_corpus_once() -> None:
    table = SubstitutionTable({"film": ("movie",), "flick": ("film",)})
    index = SubstitutionIndex.build(table, Vocabulary(("film", "movie")))
    types = ["movie", "flick", "unheard", "film"]
    rows = index.rows_of(types)
    assert rows.tolist() == [3, 4, UNKNOWN, 2]
    batch = torch.from_numpy(rows)[torch.tensor([[3, 1], [0, 2]])]
    words = index.for_words([["film", "flick"], ["movie", "unheard"]])
    assert torch.equal(index.for_rows(batch).ids, words.ids)


def test_describes_a_batch() -> None:
    table = SubstitutionTable({"film": ("movie", "flick"), "good": ("fine",)})
    vocabulary = Vocabulary(("film", "movie", "flick", "good", "fine", "a"))
    found = SubstitutionIndex.build(table, vocabulary).for_words([["a", "good", "film"], ["film"] * 300])
    assert found.combinations(0) == 6
    assert found.combinations(1) == 3**300, "exact, where a float would overflow"
    told = found.describe(vocabulary)
    assert (told.texts, told.words, told.replaceable) == (2, 303, 302)
    assert told.log10_combinations == pytest.approx((0.778, 143.136), abs=1e-3)
    assert told.most == (("film", 2), ("good", 1))
    assert str(told).startswith("302 of 303 words in 2 texts can be replaced (99.7%); the median text has 10^72.0")


def test_batches_can_be_cut_and_moved() -> None:
    found = SubstitutionIndex.build(SubstitutionTable({}), Vocabulary(("a",))).for_words([["a"], ["a", "b"]])
    assert len(found) == 2
    assert found[1:].original.tolist() == [[2, 1]]
    assert found.to("cpu").ids.tolist() == found.ids.tolist()
    empty = SubstitutionIndex.build(SubstitutionTable({}), Vocabulary(())).for_words([])
    assert empty.describe(Vocabulary(())).words == 0
    assert "no text" in str(empty.describe(Vocabulary(())))


@pytest.mark.parametrize(
    ("ids", "allowed", "message"),
    [
        (torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool), "of one shape"),
        (torch.zeros(1, 2, 3, dtype=torch.int64), torch.ones(1, 2, 2, dtype=torch.bool), "of one shape"),
        (torch.zeros(1, 2, 0, dtype=torch.int64), torch.ones(1, 2, 0, dtype=torch.bool), "of one shape"),
        (torch.zeros(1, 2, 3), torch.ones(1, 2, 3, dtype=torch.bool), "int64 ids and bool allowed"),
        (torch.zeros(1, 2, 3, dtype=torch.int64), torch.zeros(1, 2, 3, dtype=torch.bool), "the word itself allowed"),
    ],
)
def test_an_invalid_value_cannot_be_built(ids: torch.Tensor, allowed: torch.Tensor, message: str) -> None:
    with pytest.raises(LexiconError, match=message):
        Substitutions(ids, allowed)


@pytest.mark.parametrize("ids", [[[3]], [[-1]]])
def test_ids_outside_the_vocabulary_are_refused(ids: list[list[int]]) -> None:
    index = SubstitutionIndex.build(SubstitutionTable({}), Vocabulary(("a",)))
    with pytest.raises(LexiconError, match="ids from 0 to 2"):
        index.for_ids(torch.tensor(ids))
    with pytest.raises(LexiconError, match="numbers \\[texts, words\\]"):
        index.for_rows(torch.tensor([1]))
