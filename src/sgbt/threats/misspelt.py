"""What a stretch of text becomes as one word, by so many typing errors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.lattice import ChoiceSets, Ints
from sgbt.threats.near_words import NearWords, Strings
from sgbt.threats.token_classes import JOINED_WORDS, OTHER, WORD, Kind, are, is_word_character, kind_of
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

Found = tuple[tuple[int, Kind, int], ...]
"""Triples (edits, class, number of the set of ids)."""


class Misspelt:
    """For any stretch of text: the words of a vocabulary that it becomes as a whole, by their distance and class.

    Words that are not in the vocabulary are all the same to a model. Whether one of a class can be reached is decided
    by rules: there is always a letter, a digit and a mark that no word of the vocabulary has. A class is left out where
    another one is reached as cheaply behind which everything may follow that may follow it.
    """

    def __init__(self, vocabulary: Vocabulary, sets: ChoiceSets) -> None:
        listed = [(word, number) for word, number in vocabulary.index.items() if kind_of(word) is not None]
        listed += [(word, UNKNOWN) for word in JOINED_WORDS if word not in vocabulary.index]
        self._near = NearWords([word for word, _ in listed])
        self._ids = [number for _, number in listed]
        self._kinds = [kind_of(word) or Kind.RUN for word, _ in listed]
        self._index = vocabulary.index
        self._sets = sets

    def unchanged(self, text: str) -> tuple[Kind, int] | None:
        """The class and set of a string that is a word as it is."""
        kind = kind_of(text)
        return None if kind is None else (kind, self._sets.number_of({self._index.get(text, UNKNOWN)}))

    def changed(self, text: str, edits: int) -> Found:
        """What a string becomes by 1 to `edits` edits, each word at its smallest number of them."""
        return self._found(self._near.within(text, edits), self._unknown(text, edits))

    def answers(self, asked: Strings, most: int) -> tuple[list[Found], Ints]:
        """What many strings become by 1 to `most` edits, or as they are (0): answers, and which one each has.

        Strings that have no near word and are no numbers but for a few edits are alike when so many characters are
        no letters or digits, when they end in n or not, and when they have 0, 1, 2 or more characters.
        """
        if not most:
            return self._answers_unchanged(asked)
        place, words, away = self._near.many(asked, most)
        place, words, away = place[away > 0], words[away > 0], away[away > 0]
        bounds = np.searchsorted(place, np.arange(len(asked.begin)))
        shape, marked = _shapes(asked, most), _are_nearly_numbers(asked, most)
        own = (marked | (np.diff(bounds) > 0)) * np.arange(1, len(shape) + 1)
        _, first, of = np.unique(own << 16 | shape, return_index=True, return_inverse=True)
        pairs, found, rules = list(zip(words.tolist(), away.tolist(), strict=True)), [], {}
        for row in first.tolist():
            key = (int(shape[row]), row if marked[row] else -1)
            if key not in rules:
                rules[key] = self._unknown(asked.text(row), most)
            found.append(self._found(pairs[bounds[row] : bounds[row + 1]], rules[key]))
        return found, of

    def _answers_unchanged(self, asked: Strings) -> tuple[list[Found], Ints]:
        size, words = np.diff(asked.begin), _counts(asked, WORD)
        runs = (size > 2) & (words == size) & (_counts(asked, OTHER) > 0)
        place, numbers, _ = self._near.many(asked, 0)
        ids = np.full(len(size), UNKNOWN)
        ids[place] = np.array(self._ids)[numbers] if len(place) else UNKNOWN
        own = np.where(runs, 2 * ids + _end_in_n(asked), -np.arange(1, len(size) + 1))
        own[(size > 2) & (words < size) & ~_have(asked, ".,'")] = 0  # no word
        _, first, of = np.unique(own, return_index=True, return_inverse=True)
        kept = [self.unchanged(asked.text(row)) for row in first.tolist()]
        return [() if each is None else ((0, *each),) for each in kept], of

    def _found(self, near: Iterable[tuple[int, int]], unknown: Iterable[tuple[int, Kind]]) -> Found:
        found: dict[tuple[int, Kind], set[int]] = {}
        for number, away in near:
            if away:
                found.setdefault((away, self._kinds[number]), set()).add(self._ids[number])
        for away, kind in unknown:
            found.setdefault((away, kind), set()).add(UNKNOWN)
        return tuple((away, kind, self._sets.number_of(ids)) for (away, kind), ids in sorted(found.items()))

    def _unknown(self, text: str, edits: int) -> list[tuple[int, Kind]]:
        """From how many edits on an unknown word of a class can be reached."""
        odd = sum(not is_word_character(letter) for letter in text)
        found = []
        if odd <= edits:  # a letter that no word has, in the place of whatever is no letter
            at_the_end = text.endswith("n") and odd > 0
            if at_the_end:
                found.append((odd, Kind.RUN_N))
            if odd + at_the_end <= edits:
                found.append((max(odd + at_the_end, 1), Kind.RUN))
        if max(len(text), 1) <= edits:
            found.append((max(len(text), 1), Kind.MARK))
        if ("." in text or "," in text) and (away := max(_edits_to_a_number(text), 1)) <= edits:
            found.append((away, Kind.NUMBER))
        others = len(text) - text.count(".")
        for away in range(max(others, 1), edits + 1):
            shortest = max(2, text.count(".") - (away - others))
            rows = ["." * count for count in range(shortest, text.count(".") + away + 1)]
            if any(row not in self._index for row in rows):
                found.append((away, Kind.POINTS))
                break
        return found


def _counts(asked: Strings, sort: int) -> Ints:
    """How many characters of a sort each string has."""
    return _sums(asked, are(asked.letters, sort))


def _sums(asked: Strings, marked: NDArray[np.bool_]) -> Ints:
    """How many of each string's characters are marked."""
    total = np.concatenate([[0], np.cumsum(marked)])
    found: Ints = total[asked.begin[1:]] - total[asked.begin[:-1]]
    return found


def _end_in_n(asked: Strings) -> NDArray[np.bool_]:
    last = np.append(asked.letters, 0)[asked.begin[1:] - 1]
    found: NDArray[np.bool_] = (last == ord("n")) & (np.diff(asked.begin) > 0)
    return found


def _are_nearly_numbers(asked: Strings, most: int) -> NDArray[np.bool_]:
    """Which strings have points or commas, and at most so many characters that are neither these nor digits."""
    marks = _sums(asked, np.isin(asked.letters, [ord("."), ord(",")]))
    digits = _counts(asked, WORD) - _counts(asked, OTHER)
    found: NDArray[np.bool_] = (marks > 0) & (np.diff(asked.begin) - digits - marks <= most)
    return found


def _have(asked: Strings, marks: str) -> NDArray[np.bool_]:
    """Which strings have one of these characters."""
    found: NDArray[np.bool_] = _sums(asked, np.isin(asked.letters, [ord(mark) for mark in marks])) > 0
    return found


def _shapes(asked: Strings, most: int) -> Ints:
    """A number for what tells which unknown words are near a string without points and commas."""
    size = np.diff(asked.begin)
    odd = np.minimum(size - _counts(asked, WORD), most + 1)
    found: Ints = (odd * (most + 2) + np.minimum(size, most + 1)) * 2 + _end_in_n(asked)
    return found


def _edits_to_a_number(text: str) -> int:
    """How many edits make digits with single points or commas between them of a string."""
    bad = sum(letter not in ".," and not letter.isdecimal() for letter in text)
    shape = "".join("," if letter in ".," else "0" for letter in text)
    inner = shape.strip(",")
    if not inner:
        return max(len(shape) // 2 + 1, 2)
    ends = (len(shape) - len(shape.lstrip(",")) + 1) // 2 + (len(shape) - len(shape.rstrip(",")) + 1) // 2
    return bad + ends + sum(len(each) // 2 for each in inner.replace("0", " ").split())
