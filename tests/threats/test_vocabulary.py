from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.errors import LexiconError
from sgbt.threats import PADDING, UNKNOWN, SubstitutionIndex, SubstitutionTable, Vocabulary

COUNTS = {"b": 5, "a": 5, "film": 9, "rare": 1, "good": 2}
TABLE = SubstitutionTable({"film": ("movie", "flick"), "flick": ("snap",), "rare": ("odd",), "good": ("fine", "film")})


def test_words_are_numbered_from_two_by_frequency() -> None:
    vocabulary = Vocabulary.build(COUNTS)
    assert vocabulary.words == ("film", "a", "b", "good", "rare")
    assert vocabulary.encode(["film", "rare", "never"]) == [2, 6, UNKNOWN]
    assert len(vocabulary) == 7
    assert "film" in vocabulary
    assert "never" not in vocabulary


def test_substitutes_follow_one_step_only() -> None:
    words = Vocabulary.build(COUNTS, table=TABLE).words
    assert words == ("film", "a", "b", "good", "rare", "movie", "flick", "fine", "odd")
    assert "snap" not in words, "an adversary does not replace substitutes"


def test_only_substitutes_with_a_vector_are_added() -> None:
    words = Vocabulary.build(COUNTS, table=TABLE, vectors={"movie", "fine"}).words
    assert words == ("film", "a", "b", "good", "rare", "movie", "fine")


def test_rare_words_and_a_limit() -> None:
    assert Vocabulary.build(COUNTS, table=TABLE, minimum_count=2).words[-3:] == ("movie", "flick", "fine")
    assert Vocabulary.build(COUNTS, limit=2).words == ("film", "a")
    assert Vocabulary.build(COUNTS, limit=0).words == ()
    with pytest.raises(LexiconError, match="limit of at least 0, got -1"):
        Vocabulary.build(COUNTS, limit=-1)


@given(st.lists(st.sampled_from(["film", "a", "b", "never", "<pad>", "<unknown>", ""])))
def test_ids_of_types_are_those_of_encode(words: list[str]) -> None:
    vocabulary = Vocabulary.build(COUNTS)
    assert vocabulary.ids_of(words).tolist() == vocabulary.encode(words)
    assert vocabulary.ids_of(words).dtype == np.int64
    assert PADDING not in vocabulary.encode(words)


def test_survives_pickling() -> None:
    vocabulary = Vocabulary.build(COUNTS, table=TABLE)
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    index = SubstitutionIndex.build(TABLE, vocabulary)
    again = pickle.loads(pickle.dumps(index))
    assert again.table == TABLE
    assert again.for_words([["film"]]).ids.tolist() == index.for_words([["film"]]).ids.tolist()


def test_decoding() -> None:
    vocabulary = Vocabulary.build(COUNTS)
    assert vocabulary.decode([2, 1, 4, 0, 0]) == ["film", "<unknown>", "b"]
    with pytest.raises(LexiconError, match="ids from 0 to 6, got 7"):
        vocabulary.decode([7])


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1), unique=True))
def test_comes_back_as_it_went(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    vocabulary = Vocabulary(tuple(words))
    path = tmp_path_factory.mktemp("vocabulary") / "words.json"
    vocabulary.save(path)
    again = Vocabulary.load(path)
    assert again == vocabulary
    assert again.hash == vocabulary.hash
    assert hash(again) == hash(vocabulary)


def test_the_hash_depends_on_the_order() -> None:
    assert Vocabulary(("a", "b")).hash != Vocabulary(("b", "a")).hash
    assert Vocabulary(("a", "b")) != Vocabulary(("b", "a"))


@pytest.mark.parametrize("words", [("a b",), ("",), ("a\n",), (" ",), (3,), ("a", "b", "a")])
def test_an_invalid_vocabulary_cannot_be_built(words: tuple[str, ...]) -> None:
    with pytest.raises(LexiconError, match="in the vocabulary"):
        Vocabulary(words)


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    with pytest.raises(LexiconError, match="no such file"):
        Vocabulary.load(path)
    for content in ("", "[]", "{}", '{"format": "other"}', "\x00"):
        path.write_text(content)
        with pytest.raises(
            LexiconError,
            match=r"Vocabulary\.save wrote, got ",
        ):
            Vocabulary.load(path)
    Vocabulary(("a", "b")).save(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "version": 2}))
    with pytest.raises(LexiconError, match="of version 1, got version 2"):
        Vocabulary.load(path)
    path.write_text(json.dumps({**document, "words": ["a"]}))
    with pytest.raises(LexiconError, match="the words it was written with, got others"):
        Vocabulary.load(path)


def test_half_of_a_character_is_no_word_that_a_file_can_hold() -> None:
    """A lone surrogate is read as unknown; it has no bytes, so no hash and no file could name it."""
    built = Vocabulary.build({"good": 3, "\ud83d": 2, "🙂": 1, "\x00": 1})
    assert built.words == ("good", "\x00", "🙂")
    assert built.hash == Vocabulary(built.words).hash
    assert built.id_of("\ud83d") == UNKNOWN
    with pytest.raises(LexiconError, match="lone surrogate"):
        Vocabulary(("good", "\ud83d"))
