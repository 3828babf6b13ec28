"""What a stretch of text becomes as one word, by so many typing errors."""

from __future__ import annotations

from functools import lru_cache

from sgbt.threats.lattice import ChoiceSets
from sgbt.threats.near_words import NearWords
from sgbt.threats.token_classes import JOINED_WORDS, Kind, is_word_character, kind_of
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

Targets = tuple[int, ...]
"""For every class, the state behind a word of it, or -1."""
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
        self.unchanged = lru_cache(maxsize=1 << 20)(self._unchanged)
        self.changed = lru_cache(maxsize=1 << 20)(self._changed)
        self.grouped = lru_cache(maxsize=1 << 20)(self._grouped)

    def _unchanged(self, text: str) -> tuple[Kind, int] | None:
        """The class and set of a string that is a word as it is."""
        kind = kind_of(text)
        return None if kind is None else (kind, self._sets.number_of({self._index.get(text, UNKNOWN)}))

    def _changed(self, text: str, edits: int) -> Found:
        """What a string becomes by 1 to `edits` edits, each word at its smallest number of them."""
        found: dict[tuple[int, Kind], set[int]] = {}
        for number, away in self._near.within(text, edits):
            if away:
                found.setdefault((away, self._kinds[number]), set()).add(self._ids[number])
        for away, kind in self._unknown(text, edits):
            found.setdefault((away, kind), set()).add(UNKNOWN)
        return tuple((away, kind, self._sets.number_of(ids)) for (away, kind), ids in sorted(found.items()))

    def _grouped(self, text: str, edits: int, near: Targets, final: Targets) -> tuple[tuple[int, int, int], ...]:
        """The same by the state behind the word: by `near`, and by `final` where all edits are used.

        Triples (edits, state, number of the set of ids).
        """
        found: dict[tuple[int, int], list[int]] = {}
        for away, kind, number in self.changed(text, edits):
            state = (final if away == edits else near)[kind]
            if state >= 0 and near[kind] >= 0:
                found.setdefault((away, state), []).append(number)
        return tuple(
            (away, state, numbers[0] if len(numbers) == 1 else self._joined(numbers))
            for (away, state), numbers in found.items()
        )

    def _joined(self, numbers: list[int]) -> int:
        return self._sets.number_of({word for number in numbers for word in self._sets[number]})

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


def _edits_to_a_number(text: str) -> int:
    """How many edits make digits with single points or commas between them of a string."""
    bad = sum(letter not in ".," and not letter.isdecimal() for letter in text)
    shape = "".join("," if letter in ".," else "0" for letter in text)
    inner = shape.strip(",")
    if not inner:
        return max(len(shape) // 2 + 1, 2)
    ends = (len(shape) - len(shape.lstrip(",")) + 1) // 2 + (len(shape) - len(shape.rstrip(",")) + 1) // 2
    return bad + ends + sum(len(each) // 2 for each in inner.replace("0", " ").split())
