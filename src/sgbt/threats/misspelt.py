"""What a stretch of text becomes as one word, by so many typing errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.lattice import ChoiceSets, Ints
from sgbt.threats.near_words import NearWords, Strings
from sgbt.threats.token_classes import JOINED_WORDS, OTHER, WORD, Kind, are, is_word_character, kind_of
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

Found = tuple[tuple[int, int, int], ...]
"""Triples (edits, class, number of the set of ids)."""
BY_ID, BY_KIND, BY_AWAY = 32, 4, 2
"""Bits of an id, a class and a number of edits."""


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
        self._ids = np.array([number for _, number in listed], dtype=np.int64)
        self._kinds = np.array([kind_of(word) or Kind.RUN for word, _ in listed], dtype=np.int64)
        self._index = vocabulary.index
        self._sets = sets

    def unchanged(self, text: str) -> tuple[int, int] | None:
        """The class and set of a string that is a word as it is."""
        kind = kind_of(text)
        return None if kind is None else (kind, self._sets.number_of({self._index.get(text, UNKNOWN)}))

    def changed(self, text: str, edits: int) -> Found:
        """What a string becomes by 1 to `edits` edits, each word at its smallest number of them."""
        return Misspelt.answers(self, Strings.of([text]), edits)[0][0]

    def answers(self, asked: Strings, most: int) -> tuple[list[Found], Ints]:
        """What many strings become by 1 to `most` edits, or as they are (0): answers, and which one each has.

        Strings that have no near word and are no numbers but for a few edits are alike when so many characters are
        no letters or digits, when they end in n or not, and when they have 0, 1, 2 or more characters.
        """
        if not most:
            return self._answers_unchanged(asked)
        place, words, away = self._near.many(asked, most)
        place, words, away = place[away > 0], words[away > 0], away[away > 0]
        shape, own = _shapes(asked, most), _are_nearly_numbers(asked, most)
        marked = own.copy()
        own[place] = True
        _, first, of = np.unique(
            (own * np.arange(1, len(own) + 1)) << 16 | shape, return_index=True, return_inverse=True
        )
        unknown, rules = [], {}
        for answer, row in enumerate(first.tolist()):
            key = (int(shape[row]), row if marked[row] else -1)
            if key not in rules:
                rules[key] = self._unknown(asked.text(row), most)
            unknown += [(answer, many, kind, UNKNOWN) for many, kind in rules[key]]
        near = np.stack([of[place], away, self._kinds[words], self._ids[words]], axis=1)
        return self._grouped(np.concatenate([near, np.array(unknown, dtype=np.int64).reshape(-1, 4)]), len(first)), of

    def _grouped(self, rows: Ints, answers: int) -> list[Found]:
        """Rows (answer, edits, class, id) as answers with sets of ids."""
        shifts = np.array([BY_ID + BY_KIND + BY_AWAY, BY_ID + BY_KIND, BY_ID, 0])
        keys = np.unique((rows << shifts).sum(axis=1))
        groups, begin = np.unique(keys >> BY_ID, return_index=True)
        ids, ends = (keys & (1 << BY_ID) - 1).tolist(), np.append(begin, len(keys)).tolist()
        found: list[list[tuple[int, int, int]]] = [[] for _ in range(answers)]
        for number, group in enumerate(groups.tolist()):
            entry = group >> BY_KIND & (1 << BY_AWAY) - 1, group & (1 << BY_KIND) - 1
            found[group >> BY_KIND + BY_AWAY].append(
                (*entry, self._sets.number_of_sorted(tuple(ids[ends[number] : ends[number + 1]])))
            )
        return [tuple(each) for each in found]

    def _answers_unchanged(self, asked: Strings) -> tuple[list[Found], Ints]:
        size, words, others = np.diff(asked.begin), _counts(asked, WORD), _counts(asked, OTHER)
        runs = (size > 2) & (words == size) & (others > 0)
        place, numbers, _ = self._near.many(asked, 0)
        own = np.where(runs, _end_in_n(asked), -np.arange(1, len(size) + 1))
        longest = max(map(len, JOINED_WORDS))
        own[(size > 2) & (words < size) & (~_have(asked, ".,'") | (size > longest) & (others > 0))] = 2  # no word
        own[place] = 3 + numbers
        keys, first, of = np.unique(own, return_index=True, return_inverse=True)
        found: list[Found] = []
        for key, row in zip(keys.tolist(), first.tolist(), strict=True):
            kept = None if key == 2 else self._known(key - 3) if key > 2 else self.unchanged(asked.text(row))
            found.append(() if kept is None else ((0, *kept),))
        return found, of

    def _known(self, number: int) -> tuple[int, int]:
        """The class and set of a word of the list."""
        return int(self._kinds[number]), self._sets.number_of_sorted((int(self._ids[number]),))

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
