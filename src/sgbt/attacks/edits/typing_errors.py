"""What one typing error makes of a stretch of text, one way of writing each that is read otherwise.

Thousands of strings are one character away from a word, and a model distinguishes a dozen of them: those that are read
as one word of its vocabulary, as a word that it does not know, or as two. Each stretch is looked at once.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from sgbt.data import Tokenizer
from sgbt.threats import Vocabulary
from sgbt.threats.near_words import NearWords

ALPHABET = string.ascii_lowercase + " '-.,0"
"""The characters that are typed: letters, a space, and marks and a digit as the tokenizer distinguishes them."""
MOST_KEPT = 1 << 18
"""Stretches that are remembered."""


@dataclass(frozen=True, eq=False)
class TypingErrors:
    """Ways to misspell, distinct as `vocabulary` reads them; without one, as the tokenizer does."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary | None
    _known: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)

    def of_word(self, before: str, word: str, behind: str) -> tuple[str, ...]:
        """What one error makes of a word between letters that touch it."""
        return self._distinct(before, word, behind, _one_error)

    def of_gap(self, before: str, gap: str, behind: str) -> tuple[str, ...]:
        """What one error makes of a single space between two words, or of two that touch; the words are written too."""
        return self._distinct("", before + gap + behind, "", lambda _: _between(before, gap, behind))

    def two(self, word: str) -> tuple[str, ...]:
        """Words of the vocabulary exactly two errors away from a word."""
        if self.vocabulary is None:
            return ()
        key = ("2", word, "")
        if key not in self._known:
            found = [self._near.words[number] for number, away in self._near.within(word, 2) if away == 2]
            self._known[key] = tuple(sorted(found))
        return self._known[key]

    @cached_property
    def _near(self) -> NearWords:
        assert self.vocabulary is not None
        return NearWords(self.vocabulary.words)

    def _distinct(
        self, before: str, word: str, behind: str, strings: Callable[[str], Iterator[str]]
    ) -> tuple[str, ...]:
        key = (before, word, behind)
        if key not in self._known:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            read = {self._read(before + word + behind): word}
            for written in strings(word):
                read.setdefault(self._read(before + written + behind), written)
            self._known[key] = tuple(read.values())[1:]
        return self._known[key]

    def _read(self, text: str) -> tuple[object, ...]:
        words = self.tokenizer.words(text)
        return words if self.vocabulary is None else tuple(self.vocabulary.encode(words))


def _one_error(word: str) -> Iterator[str]:
    """Every string one error away: first those that need no letter, then letters replaced and put in."""
    places = range(len(word))
    yield from (word[:at] + word[at + 1 :] for at in places)
    yield from (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in places[:-1])
    for letter in ALPHABET:
        yield from (word[:at] + letter + word[at + 1 :] for at in places)
        yield from (word[:at] + letter + word[at:] for at in range(len(word) + 1))


def _between(before: str, gap: str, behind: str) -> Iterator[str]:
    """The space left out, replaced, or swapped with a neighbour; or the two letters that touch swapped."""
    if not gap:
        yield before[:-1] + behind[0] + before[-1] + behind[1:]
        return
    yield before + behind
    yield before[:-1] + gap + before[-1] + behind
    yield before + behind[0] + gap + behind[1:]
    yield from (before + letter + behind for letter in ALPHABET)
