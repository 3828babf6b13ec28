"""Which words of a vocabulary are a few typing errors away from a string.

An edit inserts, deletes or replaces a character, or swaps two neighbours; edits follow one another, so that what was
inserted may be swapped. Words within k edits of a string share with it a string that is left when at most k characters
of each are deleted (the symmetric deletions of SymSpell): an index of the vocabulary by such rests finds candidates,
and each is then compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

MOST_EDITS = 2
"""So many edits are counted at most."""


class NearWords:
    """The words of a list, found by what is at most `MOST_EDITS` edits away."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    @cached_property
    def _rests(self) -> dict[str, list[int]]:
        """Words by what is left of them when at most one character is deleted."""
        found: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            for rest in rests_of([word], 1):
                found.setdefault(rest, []).append(number)
        return found

    @cached_property
    def _deep_rests(self) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of what is left when at most two characters are deleted, sorted, and the word of each.

        Two rests may have one hash: candidates are compared anyway.
        """
        hashes: list[int] = []
        numbers: list[int] = []
        for number, word in enumerate(self.words):
            rests = rests_of([word], 2)
            hashes += map(hash, rests)
            numbers += [number] * len(rests)
        keys = np.array(hashes, dtype=np.int64)
        order = np.argsort(keys, kind="stable")
        return keys[order], np.array(numbers, dtype=np.int64)[order]

    def within(self, text: str, edits: int) -> list[tuple[int, int]]:
        """Pairs (number of the word, number of edits), of the words at most `edits` away; no word has a space."""
        spaces = sum(map(str.isspace, text))
        if edits < spaces:
            return []
        text_without = text if not spaces else "".join(letter for letter in text if not letter.isspace())
        rests = rests_of([text_without], edits - spaces)
        if edits == 0:
            candidates = {number for number in self._rests.get(text, ()) if self.words[number] == text}
        elif edits == 1:
            candidates = {number for rest in rests for number in self._rests.get(rest, ())}
        else:
            candidates = self._deep_candidates(rests)
        found = []
        for number in candidates:
            away = distance_up_to(text, self.words[number], edits)
            if away <= edits:
                found.append((number, away))
        return found

    def _deep_candidates(self, rests: set[str]) -> set[int]:
        hashes, numbers = self._deep_rests
        keys = np.fromiter(map(hash, rests), dtype=np.int64, count=len(rests))
        left, right = np.searchsorted(hashes, keys), np.searchsorted(hashes, keys, side="right")
        hit = (right > left).nonzero()[0]
        return {n for place in hit for n in numbers[left[place] : right[place]].tolist()}


def rests_of(texts: Iterable[str], depth: int) -> set[str]:
    """What is left of texts when at most `depth` characters are deleted."""
    found = set(texts)
    last = found
    for _ in range(depth):
        last = {text[:place] + text[place + 1 :] for text in last for place in range(len(text))}
        found = found | last
    return found


def distance_up_to(one: str, other: str, most: int) -> int:
    """How many edits lead from one text to the other, or more than `most`, which is at most `MOST_EDITS`."""
    for edits in range(most + 1):
        if _within(one, other, edits):
            return edits
    return most + 1


def _within(one: str, other: str, edits: int) -> bool:
    """Whether that many edits suffice. What begins both or ends both alike is never edited in a shortest way."""
    if one == other:
        return True
    if not edits or abs(len(one) - len(other)) > edits:
        return False
    start, short = 0, min(len(one), len(other))
    while start < short and one[start] == other[start]:
        start += 1
    end = 0
    while end < short - start and one[-1 - end] == other[-1 - end]:
        end += 1
    a, b = one[start : len(one) - end], other[start : len(other) - end]
    if len(a) <= 1 and len(b) <= 1:
        return True
    left = edits - 1
    if a[:1] == b[1:2] and a[1:2] == b[:1] and a and _within(a[2:], b[2:], left):
        return True  # two neighbours in the other order
    if left and a and b and (_swapped_around(a, b) or _swapped_around(b, a)):
        return True
    if left == 0 and len(a) > 1 and len(b) > 1:
        return False
    return _within(a[1:], b[1:], left) or _within(a[1:], b, left) or _within(a, b[1:], left)


def _swapped_around(longer: str, shorter: str) -> bool:
    """Whether two characters change places while the one between them goes: two edits."""
    return longer[:1] == shorter[1:2] and longer[2:3] == shorter[:1] and longer[3:] == shorter[2:] and len(longer) > 2
