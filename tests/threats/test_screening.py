"""Screening: each reason leaves out the pairs that it is about, and nothing else; the name says that it was done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgbt.core.errors import LexiconError
from sgbt.threats import SubstitutionTable
from sgbt.threats import screening as module
from sgbt.threats.screening import NAME, Screening
from sgbt.threats.wordnet_database import WordNet

NOUN, VERB, ADJECTIVE, ADVERB = "nvar"


def known(senses: dict[str, dict[str, tuple[int, ...]]], opposites: tuple[tuple[str, str], ...] = ()) -> WordNet:
    """A WordNet of these senses of every part of speech, whose numbers say which words share one."""
    empty: dict[str, dict[str, tuple[int, ...]]] = {pos: {} for pos in (NOUN, VERB, ADJECTIVE, ADVERB)}
    own = empty | senses
    members = {
        pos: {sense: tuple(word for word, has in words.items() if sense in has) for sense in range(20)}
        for pos, words in own.items()
    }
    return WordNet(own, members, dict.fromkeys(own, opposites), {pos: {} for pos in own})


LISTS = Screening(
    known(
        {
            NOUN: {"problem": (0,), "job": (1, 2, 3, 4, 0), "film": (5,), "movie": (5,), "slur": (6,)},
            VERB: {"run": (7,)},
            ADJECTIVE: {"good": (8,), "bad": (9,), "great": (8,), "awful": (9,)},
        },
        (("good", "bad"),),
    ),
    frozenset({"slur"}),
    {"great": 3.1, "awful": -2.0, "movie": 0.0},
)


@pytest.mark.parametrize(
    ("word", "other", "reason"),
    [
        ("film", "movie", ""),
        ("good", "great", ""),
        ("zebra", "okapi", ""),  # nothing is known of them
        ("it", "movie", "function word"),
        ("movie", "but", "function word"),
        ("film", "slur", "offensive"),
        ("slur", "film", ""),  # the harmless word may take its place
        ("film", "run", "part of speech"),
        ("good", "bad", "antonyms"),
        ("bad", "good", "antonyms"),
        ("problem", "job", "rare sense"),
        ("job", "problem", "rare sense"),
        ("great", "awful", "sentiment"),
        ("great", "movie", "part of speech"),
    ],
)
def test_every_reason(word: str, other: str, reason: str) -> None:
    assert LISTS.reason(word, other) == reason


def test_a_table_keeps_the_rest_in_its_order_and_says_what_was_left_out() -> None:
    table = SubstitutionTable({"film": ("movie", "slur", "zebra"), "good": ("bad",), "it": ("but",)}, "mine")
    found, left = LISTS.table(table)
    assert found.entries == {"film": ("movie", "zebra")}
    assert found.name == f"mine{NAME}"
    assert left == {"offensive": 1, "antonyms": 1, "function word": 1}
    assert found.hash != table.hash


def test_lists_are_read_from_their_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, signs = tmp_path / "words.json", tmp_path / "signs.txt"
    words.write_text(json.dumps(["slur"]))
    signs.write_text("good\t1.9\t0.9\t[]\nbad\t-2.5\t0.6\t[]\n")

    class Found:
        def __init__(self, path: Path) -> None:
            self.paths = (path,)

    places = {"offensive_words": words, "vader": signs}
    monkeypatch.setattr(module, "get", lambda name, **_: Found(places[name]))
    monkeypatch.setattr(module, "load_wordnet", lambda **_: LISTS.wordnet)
    read = Screening.read()
    assert read.offensive == {"slur"}
    assert read.sentiment == {"good": 1.9, "bad": -2.5}
    signs.write_text("no table")
    with pytest.raises(LexiconError, match="lists of words"):
        Screening.read()
