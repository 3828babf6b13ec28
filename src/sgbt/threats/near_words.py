"""Which words of a vocabulary are a few typing errors away from a string.

An edit inserts, deletes or replaces a character, or swaps two neighbours; edits follow one another, so that what was
inserted may be swapped. Words within k edits of a string share with it a string that is left when at most k characters
of each are deleted (the symmetric deletions of SymSpell): an index of the vocabulary by hashes of such rests finds
candidates, and each is then compared exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbt.core.compiled import compiled
from sgbt.threats.token_classes import SPACE, are, letters_of

Array = NDArray[Any]
MOST_EDITS = 2
"""So many edits are counted at most."""
PRIME, BASE, BITS = (1 << 31) - 1, 1_000_003, 31
"""Hashes are polynomials of the characters; two rests may have one, for candidates are compared anyway."""
BUCKETS, SIEVE = 18, 22
"""Bits of a hash that say where to look, and of those that say whether to."""


class Strings(NamedTuple):
    """Strings one after another; string i is `letters[begin[i] : begin[i + 1]]`."""

    letters: Array
    begin: Array

    @staticmethod
    def of(texts: Sequence[str]) -> Strings:
        """From any strings."""
        return Strings(letters_of("".join(texts)), np.cumsum([0, *map(len, texts)]))

    def text(self, place: int) -> str:
        """One of them."""
        return "".join(map(chr, self.letters[self.begin[place] : self.begin[place + 1]].tolist()))


class Index(NamedTuple):
    """Hashes of rests, sorted, with the word of each; `bucket` says where those with the same first bits begin.

    `sieve` has a bit for all hashes with the same, more, first bits: whether there is any. It stays near the processor.
    """

    hashes: Array
    owner: Array
    bucket: Array
    sieve: Array


class NearWords:
    """The words of a list, found by what is at most `MOST_EDITS` edits away."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._index = cache(self._made)

    @cached_property
    def _strings(self) -> Strings:
        return Strings.of(self.words)

    def _made(self, depth: int) -> Index:
        """What is left of words when at most so many characters are deleted."""
        hashes, owner = _hashes_of(self._strings, depth, _powers(int(np.diff(self._strings.begin).max(initial=0))))
        order = np.argsort(hashes, kind="stable")
        starts = np.searchsorted(hashes[order], np.arange((1 << BUCKETS) + 1) << BITS - BUCKETS)
        met = np.zeros(1 << SIEVE, dtype=bool)
        met[hashes >> BITS - SIEVE] = True
        sieve = np.packbits(met, bitorder="little")
        return Index(hashes[order].astype(np.int32), owner[order].astype(np.int32), starts.astype(np.int32), sieve)

    def within(self, text: str, edits: int) -> list[tuple[int, int]]:
        """Pairs (number of the word, number of edits), of the words at most `edits` away; no word has a space."""
        _, numbers, away = self.many(Strings.of([text]), edits)
        return list(zip(numbers.tolist(), away.tolist(), strict=True))

    def many(self, asked: Strings, edits: int) -> tuple[Array, Array, Array]:
        """The same for many strings: the place of the string, the word and the number of edits, by place."""
        if not self.words or len(asked.begin) == 1:
            return (np.empty(0, dtype=np.int64),) * 3
        begin, room, parts = 0, 1 << 14, []
        spaces = are(asked.letters, SPACE)
        seen = np.full(len(self.words), -1)
        powers = _powers(int(np.diff(asked.begin).max()))
        while begin < len(asked.begin) - 1:
            found = np.empty((room, 3), dtype=np.int64)
            begin, count = _search(self._strings, self._index(edits), asked, spaces, edits, powers, seen, begin, found)
            parts.append(found[:count])
            room *= 2
        place, number, away = np.concatenate(parts).T
        return place, number, away


def distance_up_to(one: str, other: str, most: int) -> int:
    """How many edits lead from one text to the other, or more than `most`, which is at most `MOST_EDITS`."""
    a, b = Strings.of([one]).letters, Strings.of([other]).letters
    return int(_distance(a, b, most))


def _powers(longest: int) -> Array:
    found = [1]
    for _ in range(longest + 1):
        found.append(found[-1] * BASE % PRIME)
    return np.array(found, dtype=np.int64)


@compiled
def _rests(letters: Array, depth: int, powers: Array, found: Array) -> int:
    """Hashes of what is left of a string when at most `depth` characters are deleted, some of them twice."""
    size = len(letters)
    front = np.zeros(size + 1, dtype=np.int64)
    for place in range(size):
        front[place + 1] = (front[place] * BASE + letters[place] + 1) % PRIME
    whole = front[size]
    found[0] = whole
    count = 1
    if depth < 1:
        return count
    for one in range(size):
        behind = (whole - front[one + 1] * powers[size - 1 - one]) % PRIME
        found[count] = (front[one] * powers[size - 1 - one] + behind) % PRIME
        count += 1
        if depth > 1:
            for two in range(one + 1, size):
                between = (front[two] - front[one + 1] * powers[two - one - 1]) % PRIME
                start = (front[one] * powers[two - one - 1] + between) % PRIME
                end = (whole - front[two + 1] * powers[size - 1 - two]) % PRIME
                found[count] = (start * powers[size - 1 - two] + end) % PRIME
                count += 1
    return count


@compiled
def _hashes_of(words: Strings, depth: int, powers: Array) -> tuple[Array, Array]:
    """Hashes of the rests of words, and the word of each."""
    total = 0
    for word in range(len(words.begin) - 1):
        size = words.begin[word + 1] - words.begin[word]
        total += 1 + (size if depth > 0 else 0) + (size * (size - 1) // 2 if depth > 1 else 0)
    hashes, owner = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    at = 0
    for word in range(len(words.begin) - 1):
        count = _rests(words.letters[words.begin[word] : words.begin[word + 1]], depth, powers, hashes[at:])
        owner[at : at + count] = word
        at += count
    return hashes, owner


@compiled
def _search(
    words: Strings, index: Index, asked: Strings, spaces: Array, edits: int, powers: Array, seen: Array, begin: int,
    found: Array,
) -> tuple[int, int]:  # fmt: skip
    """Triples (place, word, edits) from place `begin` on; where it stopped for want of room, and how many there are."""
    count, hashes = 0, np.empty(1, dtype=np.int64)
    for place in range(begin, len(asked.begin) - 1):
        text = asked.letters[asked.begin[place] : asked.begin[place + 1]]
        gap = spaces[asked.begin[place] : asked.begin[place + 1]]
        depth = edits - gap.sum()
        if depth < 0:
            continue
        before, solid = count, text[~gap]
        if len(hashes) < 1 + len(solid) * (len(solid) + 1):
            hashes = np.empty(2 * len(solid) * (len(solid) + 1) + 1, dtype=np.int64)
        for rest in range(_rests(solid, depth, powers, hashes)):
            wanted = hashes[rest]
            mark = wanted >> BITS - SIEVE
            if not index.sieve[mark >> 3] >> (mark & 7) & 1:
                continue
            bucket = wanted >> BITS - BUCKETS
            for at in range(index.bucket[bucket], index.bucket[bucket + 1]):
                word = index.owner[at]
                if index.hashes[at] != wanted or seen[word] == place:
                    continue
                if count == len(found):
                    seen[seen == place] = -1
                    return place, before
                seen[word] = place
                away = _distance(text, words.letters[words.begin[word] : words.begin[word + 1]], edits)
                if away <= edits:
                    found[count, 0], found[count, 1], found[count, 2] = place, word, away
                    count += 1
    return len(asked.begin) - 1, count


@compiled
def _distance(one: Array, other: Array, most: int) -> int:
    for edits in range(most + 1):
        if _within(one, other, edits):
            return edits
    return most + 1


@compiled
def _within(one: Array, other: Array, edits: int) -> bool:
    """Whether that many edits suffice. What begins both or ends both alike is never edited in a shortest way."""
    start, short = 0, min(len(one), len(other))
    while start < short and one[start] == other[start]:
        start += 1
    if start == len(one) == len(other):
        return True
    if not edits or abs(len(one) - len(other)) > edits:
        return False
    end = 0
    while end < short - start and one[len(one) - 1 - end] == other[len(other) - 1 - end]:
        end += 1
    a, b, left = one[start : len(one) - end], other[start : len(other) - end], edits - 1
    if len(a) <= 1 and len(b) <= 1:
        return True
    if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and _within(a[2:], b[2:], left):
        return True  # two neighbours in the other order
    if left and (_swapped_around(a, b) or _swapped_around(b, a)):
        return True
    if left == 0 and len(a) > 1 and len(b) > 1:
        return False
    if len(a) and len(b) and _within(a[1:], b[1:], left):
        return True
    return (len(a) > 0 and _within(a[1:], b, left)) or (len(b) > 0 and _within(a, b[1:], left))


@compiled
def _swapped_around(longer: Array, shorter: Array) -> bool:
    """Whether two characters change places while the one between them goes: two edits."""
    if len(longer) < 3 or len(longer) != len(shorter) + 1 or longer[0] != shorter[1] or longer[2] != shorter[0]:
        return False
    return bool(np.array_equal(longer[3:], shorter[2:]))
