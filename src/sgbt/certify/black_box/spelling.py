"""Spelling: words that a text misspells are read as the frequent word they are one typing error away from.

A string that is no known word is unknown, or, where it consists of `SHORTEST` letters or more and frequent words as
long are one edit away, the most frequent of them (as Jones et al. 2020, "Robust encodings", cluster misspellings).
So a typing error in a frequent word mostly changes nothing. What a stretch of text may be read as after so many errors
is a superset, by the triangle inequality: an unknown word at k edits is unknown, or a word at most k + 1 edits away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgbt.threats.lattice import Ints
from sgbt.threats.maker import LatticeMaker
from sgbt.threats.misspelt import Found, Misspelt
from sgbt.threats.near_words import MOST_EDITS, NearWords, Strings
from sgbt.threats.token_classes import Kind, kind_of
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

SHORTEST = 5
"""Shorter words are near to too many others."""


@dataclass(frozen=True, slots=False, eq=False)
class SpelledVocabulary(Vocabulary):
    """A vocabulary whose first `frequent` words are also read where they are misspelt once."""

    frequent: int = 0

    @cached_property
    def near(self) -> NearWords:
        """The words that a misspelt one may be."""
        return NearWords([word for word in self.words[: self.frequent] if is_correctable(word)])

    @cached_property
    def _corrected(self) -> dict[str, int]:
        return {}

    def id_of(self, word: str) -> int:
        """The id of a word or of what it misspells; `UNKNOWN` where neither is known."""
        number = self.index.get(word)
        if number is not None or not self.frequent or not is_correctable(word):
            return UNKNOWN if number is None else number
        if word not in self._corrected:
            near = [self.index[self.near.words[place]] for place, _ in self.near.within(word, 1)]
            self._corrected[word] = min(near, default=UNKNOWN)
        return self._corrected[word]

    def encode(self, words: Iterable[str]) -> list[int]:
        """The ids of words."""
        return [self.id_of(word) for word in words]


def is_correctable(word: str) -> bool:
    """Whether a string is long enough, and of letters alone."""
    return len(word) >= SHORTEST and word.isalpha()


class SpelledMisspelt(Misspelt):
    """What a stretch of text may be read as, with misspelt words read as what they misspell."""

    vocabulary: SpelledVocabulary

    def __init__(self, vocabulary: SpelledVocabulary, sets: object) -> None:
        self.vocabulary = vocabulary
        super().__init__(vocabulary, sets)  # type: ignore[arg-type]

    def unchanged(self, text: str) -> tuple[Kind, int] | None:
        """As the vocabulary reads it."""
        kind = kind_of(text)
        return None if kind is None else (kind, self._sets.number_of({self.vocabulary.id_of(text)}))

    def answers(self, asked: Strings, most: int) -> tuple[list[Found], Ints]:
        """One by one: what is corrected depends on the string."""
        texts = [asked.text(row) for row in range(len(asked.begin) - 1)]
        found = [self.changed(text, most) if most else self._alone(text) for text in texts]
        return found, np.arange(len(texts))

    def _alone(self, text: str) -> Found:
        kept = self.unchanged(text)
        return () if kept is None else ((0, *kept),)

    def changed(self, text: str, edits: int) -> Found:
        """With what an unknown word may be corrected to."""
        near, found = self.vocabulary.near, []
        for away, kind, number in super().changed(text, edits):
            ids = self._sets[number]
            if UNKNOWN in ids and self.vocabulary.frequent:
                assert away < MOST_EDITS, "one more edit than there are is counted"
                corrected = {self.vocabulary.index[near.words[place]] for place, _ in near.within(text, away + 1)}
                number = self._sets.number_of({*ids, *corrected})
            found.append((away, kind, number))
        return tuple(found)


class SpelledLatticeMaker(LatticeMaker):
    """Makes lattices over such a vocabulary."""

    @cached_property
    def _misspelt(self) -> Misspelt:
        assert isinstance(self.vocabulary, SpelledVocabulary)
        return SpelledMisspelt(self.vocabulary, self.sets)
