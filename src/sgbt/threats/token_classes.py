"""How the default tokenizer reads words that touch each other, as an automaton over classes of words.

Typing errors bring words together that no space parts. Which words can stand side by side so that the tokenizer reads
just these? A run of letters ends where no letter follows, so two runs never touch; a number goes on through a comma or
a point with digits behind it; n't, 's and their like, and rows of points, are words of their own. `NEXT` says it: from
a state, words of a class lead to another state, or cannot stand there.
"""

from __future__ import annotations

import re
import sys
from enum import IntEnum
from functools import cache, lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sgbt.data.tokenizer import ENGLISH, Tokenizer

CLITICS = ("s", "m", "d", "re", "ve", "ll")
NOT = "n't"
JOINED_WORDS = (NOT, *(f"'{each}" for each in CLITICS))
"""Words with an apostrophe in them."""


class Kind(IntEnum):
    """Classes of words."""

    RUN = 0
    """Letters, digits and _, none of the following."""
    RUN_N = 1
    """A run that ends in n, so that 't may follow it only as a part of n't."""
    RUN_T = 2
    CLITIC_RUN = 3
    """s, m, d, re, ve, ll without their apostrophe."""
    DIGITS = 4
    NUMBER = 5
    """Digits with points or commas between them."""
    NOT = 6
    CLITIC = 7
    POINT = 8
    COMMA = 9
    APOSTROPHE = 10
    POINTS = 11
    """Two points or more."""
    MARK = 12
    """Any other character that is neither a letter nor white space."""


class State(IntEnum):
    """What stands before a gap, as far as it limits what may stand behind it."""

    FREE = 0
    RUN = 1
    RUN_N = 2
    DIGITS = 3
    NUMBER = 4
    POINT_IN_NUMBER = 5
    COMMA_IN_NUMBER = 6
    APOSTROPHE = 7
    N_APOSTROPHE = 8
    JOINED = 9
    """Behind n't, 's and their like."""
    POINT = 10
    NOT_MUST_FOLLOW = 11
    """Behind a run that is a word by itself only if n't follows: the 5 of 1,5n't."""


SORTS = 5
PLAIN, WALL, INSERTED, REOPENED, SHARED = range(SORTS)
"""Sorts of nodes at one place: in the text, where word edits begin, behind inserted words, in the text behind those,
and one that states share behind which nearly the same may follow. Behind a swap, the sort is how far it reaches."""

_RUNS = (Kind.RUN, Kind.RUN_N, Kind.RUN_T, Kind.CLITIC_RUN, Kind.DIGITS, Kind.NUMBER)
_FROM_FREE = {
    Kind.RUN: State.RUN,
    Kind.RUN_N: State.RUN_N,
    Kind.RUN_T: State.RUN,
    Kind.CLITIC_RUN: State.RUN,
    Kind.DIGITS: State.DIGITS,
    Kind.NUMBER: State.NUMBER,
    Kind.NOT: State.JOINED,
    Kind.CLITIC: State.JOINED,
    Kind.POINT: State.POINT,
    Kind.COMMA: State.FREE,
    Kind.APOSTROPHE: State.APOSTROPHE,
    Kind.POINTS: State.POINT,
    Kind.MARK: State.FREE,
}


def _from(state: State) -> dict[Kind, State]:
    found = dict(_FROM_FREE)
    if state is State.NOT_MUST_FOLLOW:
        return {Kind.NOT: State.JOINED}
    if state in (State.RUN, State.RUN_N, State.DIGITS, State.NUMBER, State.JOINED):
        for kind in _RUNS:
            del found[kind]
    if state in (State.NUMBER, State.JOINED):
        del found[Kind.NOT]
    if state is State.RUN_N:
        found[Kind.APOSTROPHE] = State.N_APOSTROPHE
    if state in (State.DIGITS, State.NUMBER):
        found |= {Kind.POINT: State.POINT_IN_NUMBER, Kind.COMMA: State.COMMA_IN_NUMBER}
    if state in (State.POINT_IN_NUMBER, State.COMMA_IN_NUMBER):
        found[Kind.DIGITS] = State.NOT_MUST_FOLLOW
        del found[Kind.NUMBER]
    if state in (State.POINT, State.POINT_IN_NUMBER):
        del found[Kind.POINT], found[Kind.POINTS]
    if state in (State.APOSTROPHE, State.N_APOSTROPHE):
        found[Kind.CLITIC_RUN] = State.NOT_MUST_FOLLOW
    if state is State.N_APOSTROPHE:
        found[Kind.RUN_T] = State.NOT_MUST_FOLLOW
    return found


NEXT = MappingProxyType({state: MappingProxyType(_from(state)) for state in State})
"""For every state, the classes of words that may follow without a space, and the state behind them."""
IN_A_RUN = frozenset({State.RUN, State.RUN_N, State.DIGITS, State.NUMBER, State.JOINED, State.NOT_MUST_FOLLOW})
"""States behind which no letter may follow without a space, but those of n't."""

OPEN = frozenset(State) - IN_A_RUN
"""States behind which a letter may follow."""
COMMON = len(State)
"""Not a state of the tokenizer: what all open states allow alike, so that it is written down once."""
_SHARED = {
    kind: target for kind, target in NEXT[State.FREE].items() if all(NEXT[state].get(kind) == target for state in OPEN)
}


@cache
def targets_of(state: int) -> tuple[int, ...]:
    """For every class, the state behind a word of it, -1 where it cannot stand; for an open state, only what is not
    `COMMON` to all of them. With no edit left, `everything_of` is what to ask."""
    if state == COMMON:
        return tuple(int(_SHARED.get(kind, -1)) for kind in Kind)
    shared = _SHARED if State(state) in OPEN else {}
    return tuple(-1 if kind in shared else int(NEXT[State(state)].get(kind, -1)) for kind in Kind)


@cache
def everything_of(state: int) -> tuple[int, ...]:
    """For every class, the state behind a word of it, -1 where it cannot stand."""
    return tuple(int(NEXT[State(state)].get(kind, -1)) for kind in Kind)


@lru_cache(maxsize=1 << 16)
def without_edits(states: tuple[int, ...], following: str, stop: bool) -> tuple[int, ...]:
    """The states of places where nothing is edited any more and these three characters follow: -1 where no text can
    follow, and one state for all between which it makes no difference. At a `stop` the text may end."""
    return tuple(-1 if state < 0 else _without_edits(State(state), following, stop) for state in states)


def _without_edits(state: State, following: str, stop: bool) -> int:
    letter = following[:1]
    if state is State.NOT_MUST_FOLLOW:
        return state if following == NOT else -1
    if not letter or letter.isspace():
        return State.FREE
    if is_word_character(letter):
        if state in IN_A_RUN:
            may_join = following == NOT and state not in (State.NUMBER, State.JOINED)
            return State.RUN if may_join else State.JOINED if stop else -1
        matters = {
            State.POINT_IN_NUMBER: letter.isdecimal(),
            State.COMMA_IN_NUMBER: letter.isdecimal(),
            State.APOSTROPHE: letter in "smdrvl",
            State.N_APOSTROPHE: letter in "smdrvlt",
        }
        return state if matters.get(state) else State.FREE
    if letter == "'":
        return state if state is State.RUN_N else State.FREE
    if letter in ".," and state in (State.DIGITS, State.NUMBER):
        return State.DIGITS
    return State.POINT if letter == "." and state in (State.POINT, State.POINT_IN_NUMBER) else State.FREE


_NUMBER = re.compile(r"\d+(?:[.,]\d+)+")


SPACE, WORD, OTHER, ALPHA, UNASKED = (1 << bit for bit in range(5))
"""Sorts of characters: white space, what the tokenizer sees as a letter or digit, one that is no digit, a letter."""
_SORTS = np.full(sys.maxunicode + 1, UNASKED, dtype=np.uint8)


def letters_of(text: str) -> NDArray[np.int64]:
    """The numbers of the characters of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)


def are(letters: NDArray[np.int64], sort: int) -> NDArray[np.bool_]:
    """Which characters are of a sort."""
    found = _SORTS[letters]
    if (found == UNASKED).any():
        for number in np.unique(letters[found == UNASKED]).tolist():
            letter = chr(number)
            word = is_word_character(letter)
            other = word and not letter.isdecimal()
            _SORTS[number] = SPACE * letter.isspace() + WORD * word + OTHER * other + ALPHA * letter.isalpha()
        found = _SORTS[letters]
    return (found & sort) > 0


def is_word_character(letter: str) -> bool:
    r"""Whether \w matches."""
    return letter.isalnum() or letter == "_"


def kind_of(word: str) -> Kind | None:
    """The class of a string that the tokenizer can read as one word; None for any other."""
    if all(map(is_word_character, word)):
        if not word:
            return None
        if word.isdecimal():
            return Kind.DIGITS
        if word == "t":
            return Kind.RUN_T
        return Kind.CLITIC_RUN if word in CLITICS else Kind.RUN_N if word.endswith("n") else Kind.RUN
    if len(word) == 1:
        if word.isspace():
            return None
        return {".": Kind.POINT, ",": Kind.COMMA, "'": Kind.APOSTROPHE}.get(word, Kind.MARK)
    if word in JOINED_WORDS:
        return Kind.NOT if word == NOT else Kind.CLITIC
    if not word.strip("."):
        return Kind.POINTS
    return Kind.NUMBER if _NUMBER.fullmatch(word) else None


def is_read_so(tokenizer: Tokenizer) -> bool:
    """Whether the automaton is about this tokenizer."""
    return tokenizer.pattern == ENGLISH
