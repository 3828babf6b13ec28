from __future__ import annotations

import pickle
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.threats.strategies import WORDS, tables

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable, combinations


def pairs(table: SubstitutionTable) -> set[tuple[str, str]]:
    return {(word, substitute) for word, found in table.entries.items() for substitute in found}


def test_reads_like_a_mapping() -> None:
    table = SubstitutionTable({"film": ["movie", "picture"], "the": []}, "mine")
    assert table.substitutes("film") == ("movie", "picture")
    assert table.substitutes("the") == ()
    assert "film" in table
    assert "the" not in table, "a word without substitutes is not listed"
    assert len(table) == 1
    assert repr(table).startswith("SubstitutionTable('mine', 1 words, hash ")


def test_cannot_be_changed() -> None:
    table = SubstitutionTable({"film": ("movie",)})
    with pytest.raises(TypeError):
        table.entries["film"] = ("picture",)  # type: ignore[index]
    with pytest.raises(AttributeError):
        table.name = "other"  # type: ignore[misc]


@given(tables(), tables())
def test_union_and_intersection_are_those_of_the_pairs(a: SubstitutionTable, b: SubstitutionTable) -> None:
    assert pairs(a | b) == pairs(a) | pairs(b)
    assert pairs(a & b) == pairs(a) & pairs(b)


@given(tables(), tables(), tables())
def test_the_algebra_is_a_lattice(a: SubstitutionTable, b: SubstitutionTable, c: SubstitutionTable) -> None:
    assert a | b == b | a
    assert a & b == b & a
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert a | (a & b) == a
    assert a & (a | b) == a
    assert a & (b | c) == (a & b) | (a & c)
    assert (a | a).hash == a.hash


@given(tables(), tables())
def test_the_hash_is_that_of_the_allowed_substitutions(a: SubstitutionTable, b: SubstitutionTable) -> None:
    assert (a.hash == b.hash) == (pairs(a) == pairs(b))
    assert (hash(a) == hash(b)) or a != b


@given(tables(), st.randoms(use_true_random=False))
def test_neither_order_nor_name_change_the_hash(table: SubstitutionTable, chance: random.Random) -> None:
    shuffled = [(word, chance.sample(found, len(found))) for word, found in table.entries.items()]
    chance.shuffle(shuffled)
    again = SubstitutionTable({word: tuple(found) for word, found in shuffled}, "another name")
    assert again.hash == table.hash
    assert again == table


def test_the_hash_is_pinned() -> None:
    """Certificates name this number: it must not change from release to release."""
    table = SubstitutionTable({"film": ("movie", "picture"), "good": ("fine",)})
    assert table.hash == "58ae86c82c605ea6ce5282a73852c02a687e429f0e5c7fbe168d640d4f94d06c"


def test_words_that_run_together_are_told_apart() -> None:
    assert SubstitutionTable({"a": ("b",), "c": ("d",)}) != SubstitutionTable({"a": ("b", "c", "d")})


@given(tables(), st.integers(0, 7))
def test_nearest_keeps_the_first(table: SubstitutionTable, count: int) -> None:
    assert all(table.nearest(count).substitutes(word) == table.substitutes(word)[:count] for word in WORDS)


@given(tables(), st.sets(st.sampled_from(WORDS)))
def test_restriction_and_fixed_words(table: SubstitutionTable, some: set[str]) -> None:
    assert pairs(table.restricted_to(some)) == {(a, b) for a, b in pairs(table) if a in some and b in some}
    assert pairs(table.without(some)) == {(a, b) for a, b in pairs(table) if a not in some}


@given(tables())
def test_survives_pickling(table: SubstitutionTable) -> None:
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert dict(again.entries) == dict(table.entries)
    assert again.name == table.name


def test_names_tell_how_a_table_came_about() -> None:
    a, b = SubstitutionTable({}, "a"), SubstitutionTable({}, "b")
    assert (a | b).name == "a | b"
    assert ((a | b) & a).name == "(a | b) & a"
    assert a.nearest(3).name == "a, nearest 3"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"film": ("motion picture",)}, "'film' -> 'motion picture', which is not one word"),
        ({"film": ("Movie",)}, "'film' -> 'Movie'"),
        ({"film": ("well-made",)}, "'well-made'"),
        ({"film": ("",)}, "''"),
        ({"don't": ("never",)}, 'the entry "don\'t"'),
        ({"Film": ("movie",)}, "the entry 'Film'"),
        ({"film": ("film",)}, "'film' as its own substitute"),
        ({"film": ("movie", "movie")}, "a substitute of 'film' twice"),
    ],
)
def test_an_invalid_table_cannot_be_built(entries: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(LexiconError, match=message):
        SubstitutionTable(entries)


def test_a_negative_number_of_substitutes_is_refused() -> None:
    with pytest.raises(LexiconError, match="at least 0, got -1"):
        SubstitutionTable({}).nearest(-1)


def test_describes_itself() -> None:
    table = SubstitutionTable({"film": ("movie", "picture"), "good": ("fine",)}, "mine")
    told = table.describe()
    assert (told.words, told.pairs, told.mean, told.maximum) == (2, 3, 1.5, 2)
    assert told.most == (("film", 2), ("good", 1))
    assert str(told) == (
        f"mine ({table.hash[:12]}): 2 words have substitutes, 3 substitutions, 1.50 a word, at most 2; "
        "most: film 2, good 1"
    )
    assert SubstitutionTable({}).describe().mean == 0


def test_describes_what_it_does_to_texts() -> None:
    table = SubstitutionTable({"film": ("movie", "picture"), "good": ("fine",)})
    told = table.describe_texts([["a", "good", "film"], ["a", "film", "film"], ["a"]])
    assert (told.texts, told.words, told.replaceable) == (3, 7, 4)
    assert told.log10_combinations == pytest.approx(0.778, abs=1e-3)
    assert str(told).startswith("4 of 7 words in 3 texts can be replaced (57.1%); the median text has 10^0.8 variants")
    assert combinations(table, ["good", "film"] * 200) == 6**200
    assert table.describe_texts([]).share == 0


def test_half_of_a_character_is_refused_in_a_sentence() -> None:
    for entries in ({"good": ("\ud83d",)}, {"\ud83d": ("good",)}):
        with pytest.raises(LexiconError, match="not one word"):
            SubstitutionTable(entries)


def test_a_large_table_is_checked_once_and_fast() -> None:
    """50,000 words with eight substitutes each, for a tokenizer of one's own."""
    words = [f"word{number}" for number in range(50_000)]
    table = SubstitutionTable({word: tuple(words[max(place - 8, 0) : place]) for place, word in enumerate(words)})
    began = time.perf_counter()
    table.require_read_by(Tokenizer(r"\w+|[^\w\s]"))
    first, began = time.perf_counter() - began, time.perf_counter()
    for _ in range(100):
        table.require_read_by(Tokenizer(r"\w+|[^\w\s]"))
        table.require_read_by(Tokenizer())
    assert first < 2
    assert time.perf_counter() - began < 0.5
    with pytest.raises(LexiconError, match="'word1', which it reads as 'word'"):
        table.require_read_by(Tokenizer(r"[a-z]+"))
