r"""Which token patterns read words one by one: those under which a space always separates words.

Let T(s) be the words that a pattern finds in a text s from left to right. A space separates words if, for all texts
a and b,

    T(a + " " + b) = T(a) + T(b).

Words that are read as themselves one by one then stay themselves in the space-joined text, and a word that is set
apart by spaces can be replaced without any other word being read otherwise. `new\ york|\w+` does not have the property:
"new" and "york" are words, and "new york" is one word too.

Proposition. The property holds if (1) no literal, class or dot of the pattern matches a space, inside lookarounds too;
(2) the only zero-width tests are lookarounds, \b and \B; (3) there are no groups to refer back to; (4) every match is
at least one character long.

Proof. Let s = a + " " + b, with the space at position m.

First, for every part r of the pattern and every position i <= m, r matches from i to the same ends, in the same order
of preference, in s as in a; likewise from i > m in s as from i - m - 1 in b; provided that a, or b, is not empty. By
induction on r. A literal, class or dot at i < m sees the same character; at m it sees the space in s and the end of the
text in a, and fails at both; so no match crosses m. \b and \B compare what stands on both sides of i: a space is not
a word character, under any flag, and neither is an end of the text, so they answer alike. A lookahead asks whether its
body matches from i: alike by induction. A lookbehind has a fixed width k in Python, and its body matches from i - k. If
the k characters do not reach back to the space, alike by induction; if they do, then in s the body fails, since it
would have to consume the space, and in b there is no room for it: in both a positive
one fails and a negative one holds.
Sequences, alternatives, groups (atomic ones as well) and repetitions (greedy, lazy, possessive) are functions of what
their parts match.

Second, the scan. A match begins at the leftmost place where there is one, and the next is sought from its end. At m
none begins, since by (4) it would consume the space. So up to m the scan of s finds T(a), and from m + 1 on T(b). If a
is empty, nothing is found at its only position, neither in a nor, because of the space, in s; likewise for b. (That
case stands apart because in an empty text Python before 3.14 lets neither \b nor \B match.)

Lower-casing, which comes before, works letter by letter. All this is about U+0020 alone; a pattern may take line breaks
for letters, as [^ ]+ does.

The conditions are sufficient, not necessary: \w+(?=\s|$) would do no harm, and is refused; (?!\S) says the same.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

SPACE = ord(" ")
HOLDS_A_SPACE = MappingProxyType(
    {"SPACE": True, "NOT_SPACE": False, "DIGIT": False, "NOT_DIGIT": True, "WORD": False, "NOT_WORD": True}
)
"""Whether a category (\\s, \\S, \\d, ...) has the space in it; the flags ASCII and UNICODE do not change that."""


class UnknownConstructError(Exception):
    """A construct of Python's regular expressions that this analysis does not know."""


@lru_cache(maxsize=256)
def across_spaces(pattern: str) -> str:
    """What a token pattern does that could reach across a space, in words; nothing if a space separates words.

    The pattern is one that compiles. What cannot be analysed is taken to reach across.
    """
    try:
        parsed = importlib.import_module("re._parser").parse(pattern, re.VERBOSE)
        if parsed.getwidth()[0] == 0:
            return "could match the empty text"
        return next(_faults(parsed), "")
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, UnknownConstructError):
        return "cannot be analysed by this version of Python and sgbt"


def _faults(parsed: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for operation, argument in parsed:
        reader = READERS.get(operation.name)
        if reader is None:
            raise UnknownConstructError(operation.name)
        yield from reader(argument)


def _consuming(matches_space: Callable[[Any], bool]) -> Callable[[Any], Iterator[str]]:
    def faults(argument: Any) -> Iterator[str]:
        if matches_space(argument):
            yield "can match a space"

    return faults


def _in_class(members: list[tuple[Any, Any]]) -> bool:
    negated = bool(members[0][0].name == "NEGATE")
    return any(_is_member(kind.name, value) for kind, value in members[negated:]) != negated


def _is_member(kind: str, value: Any) -> bool:
    if kind == "LITERAL":
        return bool(value == SPACE)
    if kind == "RANGE":
        return bool(value[0] <= SPACE <= value[1])
    if kind == "CATEGORY":
        return HOLDS_A_SPACE[value.name.removeprefix("CATEGORY_")]
    raise UnknownConstructError(kind)


def _position(code: Any) -> Iterator[str]:
    if code.name not in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        yield "looks for the beginning or the end of the text"


def _branches(argument: tuple[None, list[Any]]) -> Iterator[str]:
    for branch in argument[1]:
        yield from _faults(branch)


READERS: Mapping[str, Callable[[Any], Iterator[str]]] = MappingProxyType(
    {
        "LITERAL": _consuming(lambda code: bool(code == SPACE)),
        "NOT_LITERAL": _consuming(lambda code: bool(code != SPACE)),
        "ANY": _consuming(lambda _: True),
        "IN": _consuming(_in_class),
        "AT": _position,
        "BRANCH": _branches,
        "SUBPATTERN": lambda argument: _faults(argument[-1]),
        "ATOMIC_GROUP": _faults,
        "ASSERT": lambda argument: _faults(argument[1]),
        "ASSERT_NOT": lambda argument: _faults(argument[1]),
        "MAX_REPEAT": lambda argument: _faults(argument[2]),
        "MIN_REPEAT": lambda argument: _faults(argument[2]),
        "POSSESSIVE_REPEAT": lambda argument: _faults(argument[2]),
        "FAILURE": lambda _: iter(()),
    }
)
"""One reader per construct: what in it could reach across a space."""
