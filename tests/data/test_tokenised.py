from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.files import user_cache
from sgbt.data import RaggedIds, TokenisedTexts, Tokenizer, tokenise
from sgbt.data import tokenised as module
from sgbt.data.tokenised import Pieces
from sgbt.data.tokenizer import ENGLISH

TEXTS = ("A fine film.", "", "A fine, FINE day", "lone \ud83d surrogate \x00 İ")


def cache_files() -> list[Path]:
    return sorted((user_cache() / "tokens").glob("*"))


def same(one: TokenisedTexts, other: TokenisedTexts) -> bool:
    return (
        one.types == other.types
        and np.array_equal(one.ids.flat, other.ids.flat)
        and np.array_equal(one.ids.starts, other.ids.starts)
    )


@pytest.fixture
def no_tokenizing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("tokenised again")

    monkeypatch.setattr(module, "_tokenise", refuse)
    monkeypatch.setattr(Tokenizer, "words", refuse)


class TestCache:
    def test_the_second_call_reads_the_cache(self, request: pytest.FixtureRequest) -> None:
        first = tokenise(TEXTS)
        request.getfixturevalue("no_tokenizing")
        assert same(tokenise(TEXTS), first)
        assert [path.suffix for path in cache_files()] == [".npz"]

    def test_without_cache_nothing_is_written(self) -> None:
        first = tokenise(TEXTS, cache=False)
        assert cache_files() == []
        assert same(tokenise(TEXTS), first)

    @pytest.mark.parametrize(
        "texts",
        [
            ("A fine film!", *TEXTS[1:]),
            TEXTS[:-1],
            (*TEXTS, ""),
            TEXTS[::-1],
            ("A fine film.A", " fine, FINE day", *TEXTS[2:]),
        ],
    )
    def test_changed_texts_change_the_key(self, texts: tuple[str, ...]) -> None:
        tokenise(TEXTS)
        assert same(tokenise(texts), tokenise(texts, cache=False))
        assert len(cache_files()) == 2

    def test_another_pattern_changes_the_key(self) -> None:
        tokenise(TEXTS)
        assert tokenise(TEXTS, Tokenizer(r"\S+")).words(0) == ("a", "fine", "film.")
        assert len(cache_files()) == 2

    @pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "npy", "folder", "other"])
    def test_a_damaged_file_is_made_again(self, damage: str) -> None:
        first = tokenise(TEXTS)
        (path,) = cache_files()
        whole = path.read_bytes()
        if damage == "folder":
            path.unlink()
            path.mkdir()
        elif damage == "npy":
            with path.open("wb") as stream:
                np.save(stream, np.zeros(3))
        elif damage == "other":
            with path.open("wb") as stream:
                np.savez(stream, something=np.zeros(3))
        else:
            middle = len(whole) // 2
            flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
            path.write_bytes({"empty": b"", "cut": whole[:-40], "flipped": flipped, "text": b"hello"}[damage])
        assert same(tokenise(TEXTS), first)
        if damage != "folder":
            assert path.read_bytes() == whole

    def test_every_flipped_byte_is_harmless(self) -> None:
        first = tokenise(TEXTS)
        (path,) = cache_files()
        whole = path.read_bytes()
        for place in range(0, len(whole), 7):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
            assert same(tokenise(TEXTS), first), place

    def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(self) -> None:
        user_cache().mkdir(parents=True)
        (user_cache() / "tokens").write_bytes(b"in the way")
        assert tokenise(TEXTS).words(0) == ("a", "fine", "film", ".")

    def test_tokens_may_contain_line_breaks(self, request: pytest.FixtureRequest) -> None:
        lines = Tokenizer(r"[^,]+")
        first = tokenise(("one\ntwo,three", "\n,\n\n"), lines)
        request.getfixturevalue("no_tokenizing")
        again = tokenise(("one\ntwo,three", "\n,\n\n"), lines)
        assert again.words(0) == first.words(0) == ("one\ntwo", "three")
        assert again.words(1) == ("\n", "\n\n")

    @pytest.mark.parametrize("texts", [(), ("",), ("", "")])
    def test_nothing_to_say(self, texts: tuple[str, ...]) -> None:
        for _ in range(2):
            tokenised = tokenise(texts)
            assert tokenised.types == ()
            assert len(tokenised) == len(texts)
            assert [tokenised.words(row) for row in range(len(texts))] == [()] * len(texts)
            assert tokenised.counts() == {}


@given(st.lists(st.text(max_size=30), max_size=8))
def test_it_agrees_with_the_tokenizer(texts: list[str]) -> None:
    tokenised = tokenise(texts, cache=False)
    assert [tokenised.words(row) for row in range(len(texts))] == [Tokenizer().words(text) for text in texts]
    assert len(set(tokenised.types)) == len(tokenised.types)
    assert sum(tokenised.counts().values()) == len(tokenised.ids.flat)
    assert set(tokenised.counts()) == set(tokenised.types)


class TestRaggedIds:
    ragged = RaggedIds(np.array([5, 6, 7, 8, 9]), np.array([0, 2, 2, 5]))

    def test_rows(self) -> None:
        assert len(self.ragged) == 3
        assert [row.tolist() for row in map(self.ragged.__getitem__, range(3))] == [[5, 6], [], [7, 8, 9]]
        assert self.ragged.lengths.tolist() == [2, 0, 3]

    def test_rows_from_the_end(self) -> None:
        assert self.ragged[-1].tolist() == [7, 8, 9]
        assert self.ragged[-3].tolist() == [5, 6]

    @pytest.mark.parametrize("row", [3, -4])
    def test_rows_beyond(self, row: int) -> None:
        with pytest.raises(IndexError):
            self.ragged[row]

    @pytest.mark.parametrize("longest", [0, 1, 2, 3, 10])
    def test_cut(self, longest: int) -> None:
        cut = self.ragged.cut(longest)
        assert [cut[row].tolist() for row in range(3)] == [self.ragged[row].tolist()[:longest] for row in range(3)]

    def test_renumbering(self) -> None:
        tokenised = tokenise(("b a b",), cache=False)
        assert tokenised.as_ids_of(np.array([10, 20]))[0].tolist() == [10, 20, 10]


ODD = [
    "don't",
    "it's",
    "7.",
    "7.5",
    "1,000",
    "5²",
    "٣",
    "a\tb\nc\xa0d",
    "",
    "...",
    "..",
    "İstanbul",
    "ΑΣ",
    "Σ",
    "ʼtis",
    "‘n’",
    "ﬁ",
    "_x_",
    "x_1",
    "a.b",
    "'ll",
    "3rd",
    "éa",
]


@pytest.mark.parametrize("pattern", [ENGLISH, r"\w+|[^\w ]", r"new\ york|\w+"])
def test_pieces_have_the_words_of_the_text(pattern: str) -> None:
    tokenizer = Tokenizer(pattern)
    generator = random.Random(0)
    texts = ["", " ", "new york", *ODD, *(" ".join(generator.choices(ODD, k=30)) + " " + "y" * 50 for _ in range(20))]
    tokenised = tokenise(texts, tokenizer, cache=False)
    assert [tokenised.words(row) for row in range(len(texts))] == [tokenizer.words(text) for text in texts]


def test_pieces_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgbt.data.tokenised.MOST_KEPT", 5)
    pieces = Pieces(Tokenizer(), len)
    for number in range(20):
        assert pieces.ids_of([f"a{number} bb ccc", "x" * 50]).flat.tolist() == [len(f"a{number}"), 2, 3, 50]
        assert len(pieces) <= 8
