from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.threats.brute_force import READ, read_by, versions

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import LatticeMaker, SubstitutionIndex, SubstitutionTable, Threat, Vocabulary, describe
from sgbt.threats.near_words import NearWords, distance_up_to
from sgbt.threats.token_classes import NEXT, State, kind_of

UNSEEN = "zé§٣m"
"""Characters that no word of a drawn vocabulary has: letters, a mark, a digit, and m for 'm."""
TABLE = SubstitutionTable({"ab": ("ba", "q"), "b": ("ab",)}, "small")
WORD_EDITS = (
    Threat.substitutions(TABLE),
    Threat.substitutions(TABLE, at_most=1),
    Threat.deletions(["b", "a"], at_most=1),
    Threat.deletions("any", at_most=2),
    Threat.duplications(at_most=1),
    Threat.insertions(["ab", "-"], at_most=2),
    Threat.adjacent_swaps(at_most=1),
)


def made(threat: Threat, vocabulary: Vocabulary, text: str) -> set[tuple[int, ...]]:
    return LatticeMaker(threat, vocabulary, Tokenizer()).of(text).paths()


def agree(threat: Threat, vocabulary: Vocabulary, text: str, alphabet: str) -> None:
    expected = read_by(vocabulary, versions(text, threat, "".join(sorted(set(alphabet + UNSEEN)))))
    assert made(threat, vocabulary, text) == expected, (threat.name, text)


@st.composite
def drawn(draw: st.DrawFn, alphabet: str, longest: int) -> tuple[Vocabulary, str]:
    text = draw(st.text(alphabet, max_size=longest))
    listed = draw(st.lists(st.text(alphabet, min_size=1, max_size=4), max_size=10))
    words = sorted({word for each in [*listed, *([text] if draw(st.booleans()) else [])] for word in READ(each)})
    return Vocabulary(tuple(words)), text


@settings(max_examples=150, deadline=None)
@given(drawn("ant's5,. ", 7))
def test_one_typo_makes_what_strings_make(case: tuple[Vocabulary, str]) -> None:
    agree(Threat.typos(1), *case, "ant's5,. ")


@settings(max_examples=15, deadline=None)
@given(drawn("ant's5,. ", 4))
def test_two_typos_make_what_strings_make(case: tuple[Vocabulary, str]) -> None:
    agree(Threat.typos(2), *case, "ant's5,. ")


@settings(max_examples=15, deadline=None)
@given(drawn("ab -", 6))
def test_two_typos_around_spaces(case: tuple[Vocabulary, str]) -> None:
    agree(Threat.typos(2), *case, "ab -")


@settings(max_examples=60, deadline=None)
@given(drawn("ab -", 9), st.sampled_from(WORD_EDITS))
def test_word_edits_make_what_strings_make(case: tuple[Vocabulary, str], threat: Threat) -> None:
    agree(threat, *case, "ab -")


@settings(max_examples=40, deadline=None)
@given(drawn("ab -", 5), st.sampled_from(list(itertools.combinations(WORD_EDITS, 2))), st.sampled_from([None, 1, 2]))
def test_pairs_of_word_edits(case: tuple[Vocabulary, str], pair: tuple[Threat, Threat], total: int | None) -> None:
    threat = pair[0] | pair[1]
    agree(threat if total is None else threat.within(total=total), *case, "ab -")


@settings(max_examples=40, deadline=None)
@given(drawn("ab' -", 5), st.sampled_from(WORD_EDITS), st.sampled_from([None, 1, 2]))
def test_word_edits_beside_typos(case: tuple[Vocabulary, str], other: Threat, total: int | None) -> None:
    threat = Threat.typos(1) | other
    agree(threat if total is None else threat.within(total=total), *case, "ab' -")


@pytest.mark.parametrize("text", ["a a", "aa aa a"])
@pytest.mark.parametrize("total", [2, None])
def test_equal_words_swapped_beside_a_typo(text: str, total: int | None) -> None:
    threat = Threat.typos(1) | Threat.adjacent_swaps(at_most=1)
    agree(threat if total is None else threat.within(total=total), Vocabulary(("a", "aa", "ab")), text, "ab ")


def test_the_automaton_is_the_tokenizer() -> None:
    """All strings of up to five characters of those that the tokenizer treats differently."""

    def readings(text: str, at: int, state: State) -> list[tuple[str, ...]]:
        if at == len(text):
            return [] if state is State.NOT_MUST_FOLLOW else [()]
        if text[at].isspace():
            return [] if state is State.NOT_MUST_FOLLOW else readings(text, at + 1, State.FREE)
        found = []
        for end in range(at + 1, len(text) + 1):
            kind = kind_of(text[at:end])
            if kind is not None and kind in NEXT[state]:
                found += [(text[at:end], *rest) for rest in readings(text, end, NEXT[state][kind])]
        return found

    for size in range(6):
        for letters in itertools.product(" '-.,5anst", repeat=size):
            text = "".join(letters)
            assert readings(text, 0, State.FREE) == [READ(text)]


def plain_distance(one: str, other: str) -> int:
    """Fewest insertions, deletions, replacements and swaps that follow one another, by breadth-first search up to 2."""
    from tests.threats.brute_force import one_edit

    reached = {one}
    for edits in range(3):
        if other in reached:
            return edits
        reached = set().union(*(one_edit(text, "".join(sorted(set(one + other)))) for text in reached))
    return 3


@settings(max_examples=200, deadline=None)
@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distances(one: str, other: str) -> None:
    assert distance_up_to(one, other, 2) == plain_distance(one, other)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.text("abc", min_size=1, max_size=6), max_size=20), st.text("abc ", max_size=7), st.integers(0, 2))
def test_the_index_finds_all_near_words(words: set[str], text: str, edits: int) -> None:
    index = NearWords(sorted(words))
    expected = {(place, distance_up_to(text, word, edits)) for place, word in enumerate(sorted(words))}
    assert set(index.within(text, edits)) == {pair for pair in expected if pair[1] <= edits}


def test_a_lattice_of_substitutions_is_a_sausage() -> None:
    vocabulary, text = Vocabulary(("a", "ab", "b", "ba", "q")), "ab b a"
    lattice = LatticeMaker(Threat.substitutions(TABLE), vocabulary, Tokenizer()).of(text)
    ours = lattice.sausage()
    theirs = SubstitutionIndex.build(TABLE, vocabulary).for_words([READ(text)])
    choices = [set(row[mask].tolist()) for row, mask in zip(ours.ids[0], ours.allowed[0], strict=True)]
    assert choices == [{3, 5, 6}, {4, 3}, {2}]
    assert ours.original[0].tolist() == vocabulary.encode(READ(text))
    assert theirs.combinations(0) == ours.combinations(0)
    with pytest.raises(LexiconError, match="substitutions alone"):
        LatticeMaker(Threat.deletions("any", at_most=1), vocabulary, Tokenizer()).of(text).sausage()


def test_a_description_counts() -> None:
    vocabulary = Vocabulary(("a", "ab", "b", "ba", "q"))
    threat = Threat.substitutions(TABLE) | Threat.deletions("any", at_most=1)
    found = describe(LatticeMaker(threat, vocabulary, Tokenizer()).of("ab b a"))
    assert found.edits == (("substitutions", 3), ("deletions", 3))
    assert (found.fewest, found.most) == (2, 3)
    # 3 * 2 texts with all words; without the first 2, the second 3, the third 6
    assert round(10**found.log10_paths) == 6 + 2 + 3 + 6
    assert "2 to 3 words" in str(found)


def test_more_typos_than_are_proven_are_refused() -> None:
    with pytest.raises(LexiconError, match="at most 2 typing errors"):
        LatticeMaker(Threat.typos(3), Vocabulary(("a",)), Tokenizer())
    with pytest.raises(LexiconError, match="default tokenizer"):
        LatticeMaker(Threat.typos(1), Vocabulary(("a",)), Tokenizer(r"\w+"))
