"""The encoder's contract: what an adversary can write is encoded as one of the texts that are enumerated."""

from __future__ import annotations

import itertools
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.black_box.strings import LISTED, PLAIN, encoders, every_text, texts
from tests.small import TABLE

from sgbt.certify.black_box import Encoder, read_encoder
from sgbt.certify.black_box.rendering import rendered
from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable

REVIEWS = ["a good film with a great plot", "a bad movie , very awful", "good good film", "the fine actor"]


@given(encoders(), texts(), st.integers(0, 99))
def test_every_text_of_the_threat_is_encoded_as_one_of_the_choices(encoder, text, seed):
    read = encoder.read(text)
    choices = [(piece, *read.others.get(place, ())) for place, piece in enumerate(read.pieces)]
    written = {rendered(chosen, encoder.tokenizer) for chosen in itertools.product(*choices)}
    assert encoder.encode(text) == read.written()
    for other in every_text(text, encoder.table, random.Random(seed)):
        assert encoder.encode(other) in written


@given(encoders(), texts())
def test_combinations_count_what_the_budget_leaves(encoder, text):
    read = encoder.read(text)
    sizes = [len(others) for others in read.others.values()]
    for budget in (None, 0, 1, 2):
        counted = sum(
            1
            for chosen in itertools.product(*(range(size + 1) for size in sizes))
            if budget is None or sum(map(bool, chosen)) <= budget
        )
        assert read.combinations(budget) == counted


@given(st.lists(st.one_of(st.sampled_from(LISTED + PLAIN), st.text(min_size=1, max_size=4)), max_size=8))
def test_rendered_words_are_read_as_themselves(given_words):
    tokenizer = Tokenizer()
    words = [word for each in given_words for word in tokenizer.words(each) if tokenizer.is_word(word)]
    assert list(tokenizer.words(rendered(words, tokenizer))) == words


def test_words_that_the_table_does_not_list_keep_their_casing_and_marks_stand_as_in_prose():
    encoder = Encoder.fit(REVIEWS, TABLE)
    assert encoder.encode("Well, The ACTOR (a GREAT one) wasn't\n bad!").startswith("Well, The ACTOR (")
    assert encoder.encode("wasn't it's") == "wasn't it's"


def test_a_word_becomes_the_most_frequent_of_its_cluster():
    encoder = Encoder.fit(["film film movie", "good good great"], TABLE, distinction=0.0)
    assert encoder.encode("Movie") == "film"
    assert encoder.encode("GREAT") == "good"


def test_more_distinction_keeps_more_words_apart():
    few, many = (Encoder.fit(REVIEWS, TABLE, distinction=each) for each in (0.0, 1000.0))
    seen = {word for review in REVIEWS for word in review.split()} & set(many.codes)
    assert len({few.codes[word] for word in seen}) < len({many.codes[word] for word in seen}) == len(seen)


def test_labels_keep_apart_what_tells_them_apart():
    table = SubstitutionTable({"good": ("bad",), "film": ("movie",)})
    texts = ["good film", "good movie", "bad film", "bad movie"] * 50
    apart = Encoder.fit(texts, table, [1, 1, 0, 0] * 50, distinction=0.0, relevance=10.0)
    assert apart.codes["good"] != apart.codes["bad"]
    assert apart.codes["film"] == apart.codes["movie"]


def test_files_and_copies_are_the_same_encoder(tmp_path):
    encoder = Encoder.fit(REVIEWS, TABLE)
    encoder.to_json(tmp_path / "encoder.json")
    assert read_encoder(tmp_path / "encoder.json") == encoder == pickle.loads(pickle.dumps(encoder))
    changed = (tmp_path / "encoder.json").read_text().replace('"good": "good"', '"good": "bad"')
    (tmp_path / "encoder.json").write_text(changed)
    with pytest.raises(LexiconError, match="hash"):
        read_encoder(tmp_path / "encoder.json")


def test_an_encoder_without_a_code_for_a_word_is_refused():
    with pytest.raises(LexiconError, match="none for 'plot'"):
        Encoder(SubstitutionTable({"film": ("plot",)}), {"film": "film"})
