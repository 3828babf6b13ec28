"""A space separates words, whatever stands around it: which token patterns have that property, and which do not."""

from __future__ import annotations

import re
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbt.core.errors import DataError
from sgbt.data import Tokenizer, token_pattern
from sgbt.data.tokenizer import ENGLISH, lowered

SEPARATING = (
    ENGLISH,
    r"[^ ]+",
    r"\S+",
    r"\w+|[^\w\s]",
    r"[a-z]+(?:'[a-z]+)?",
    r"\w+(?:-\w+)* | [^\w\s]",
    r"电影|好看|[一-鿿]|[^\s]",
    r"(?<!\S)\w+(?!\S) | \w",
    r"\b\w+\b | \B\S",
    r"(?i)[A-Z]+(?-i:x)? | (?a:\w+)",
    r"\w++ | (?>'+s?) | \d{1,3}?",
    r"(?!)\w | \w+ | \n",
    r"\w+(?<=a)b? | (?<!ab)\w",
)
CROSSING = {
    r"new\ york|\w+": ("new", "york"),
    r".+": ("a", "b"),
    r"\w+|[^\w]": ("a", "b"),
    r"\w+|\W": ("a", "b"),
    r"\w+|\s": ("a", "b"),
    r"[\s\w]+": ("a", "b"),
    r"[ -~]+": ("a", "b"),
    r"[^a]+|a": ("b", "b"),
    r"(?s:.)a|\w": ("b", "a"),
    r"^\w+|\w": ("ab", "cd"),
    r"\A\w+|\w": ("ab", "cd"),
    r"\w+$|\w": ("ab", "cd"),
    r"\w+\Z|\w": ("ab", "cd"),
    r"(?m)^\w+|\w": ("ab", "cd"),
    r"\w+(?=\sb)|\w": ("aa", "b"),
    r"\w+(?!\sb|\w)|\w": ("aa", "b"),
    r"(?<=a\s)b+|\w": ("a", "bb"),
    r"(?<!a\s)\w+|\w": ("a", "bb"),
    r"(?:x|(?>(?:a\ )*a))+": ("a", "a"),
}
"""Patterns under which a space does not always separate words, each with two texts that show it."""

atoms = st.sampled_from(
    ["a", "b", "1", "'", r"\w", r"\d", "[ab]", r"[^\s]", r"\S", r"[^ab\s]", "[a-c]", "[^ ]"] * 2
    + [r"\b", r"\B", ".", r"\s", r"\ ", r"\W", "[^a]", r"\D", "[ -b]", "^", "$", r"\A", r"\Z"]
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    many = ("*", "+", "?", "{1,2}", "*?", "+?", "??", "*+", "++", "?+", "{2}")
    around = ("(?={})", "(?!{})", "(?<={})", "(?<!{})", "(?>{})", "(?i:{})")
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(many)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(st.sampled_from(around), inner).map(lambda pair: pair[0].format(pair[1])),
    )


patterns = st.recursive(atoms, grown, max_leaves=8)
texts = st.text(st.sampled_from("aabb1' \n"), max_size=8)


def crosses(tokenizer: Tokenizer, left: str, right: str) -> bool:
    return tokenizer.words(f"{left} {right}") != tokenizer.words(left) + tokenizer.words(right)


@settings(max_examples=1500)
@given(patterns, st.lists(st.tuples(texts, texts), min_size=5, max_size=5))
def test_a_pattern_that_passes_reads_two_texts_apart_whatever_they_are(
    pattern: str, pairs: list[tuple[str, str]]
) -> None:
    try:
        tokenizer = Tokenizer(pattern)
        tokenizer.require_spaces_separate()
    except DataError:
        return
    for left, right in pairs:
        assert not crosses(tokenizer, left, right), (left, right)
        assert "" not in tokenizer.words(left)


@pytest.mark.parametrize("pattern", SEPARATING)
@given(left=st.text(), right=st.text())
def test_ordinary_patterns_pass_and_read_two_texts_apart(pattern: str, left: str, right: str) -> None:
    tokenizer = Tokenizer(pattern)
    tokenizer.require_spaces_separate()
    assert not crosses(tokenizer, left, right)


@given(left=st.text(), right=st.text(), space=st.sampled_from([c for c in map(chr, range(0x3001)) if c.isspace()]))
def test_to_the_default_pattern_every_white_space_is_a_space(left: str, right: str, space: str) -> None:
    assert Tokenizer().words(left + space + right) == Tokenizer().words(left) + Tokenizer().words(right)


@pytest.mark.parametrize(("pattern", "pair"), CROSSING.items())
def test_a_pattern_that_reaches_across_a_space_is_refused_in_a_sentence(pattern: str, pair: tuple[str, str]) -> None:
    tokenizer = Tokenizer(pattern)
    assert crosses(tokenizer, *pair)
    with pytest.raises(DataError, match="a space always separates words") as problem:
        tokenizer.require_spaces_separate()
    assert pattern in str(problem.value).replace("\\\\", "\\")


def test_words_of_no_letters_are_refused() -> None:
    assert "" in Tokenizer(r"(?=b)|\w+").words("b")
    with pytest.raises(DataError, match="empty"):
        Tokenizer(r"(?=b)|\w+").require_spaces_separate()


def test_without_pythons_parser_only_the_proven_pattern_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re._parser", None)
    token_pattern.across_spaces.cache_clear()
    try:
        Tokenizer().require_spaces_separate()
        with pytest.raises(DataError, match="cannot be analysed"):
            Tokenizer(r"\w+").require_spaces_separate()
    finally:
        token_pattern.across_spaces.cache_clear()


def test_a_construct_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_pattern, "READERS", {})
    token_pattern.across_spaces.cache_clear()
    try:
        with pytest.raises(DataError, match="cannot be analysed"):
            Tokenizer(r"\S+").require_spaces_separate()
    finally:
        token_pattern.across_spaces.cache_clear()


def test_the_proven_pattern_passes_the_analysis_itself() -> None:
    assert token_pattern.across_spaces(ENGLISH) == ""


def test_a_pattern_is_analysed_once() -> None:
    tokenizer = Tokenizer(r"\w+|[^\w\s]")
    tokenizer.require_spaces_separate()
    began = time.perf_counter()
    for _ in range(1000):
        tokenizer.require_spaces_separate()
    assert time.perf_counter() - began < 0.5


def test_lower_case_is_made_letter_by_letter_and_once_is_enough() -> None:
    """So that reading a text in lower case commutes with setting texts side by side."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    low = "".join(map(lowered, everything))
    assert len(low) == len(everything)
    assert low == lowered(everything) == lowered(low)
    assert re.findall(r"\s", low) == re.findall(r"\s", everything)
