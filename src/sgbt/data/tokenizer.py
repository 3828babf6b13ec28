"""Text to words and back: a deterministic tokenizer that knows where each word stood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sgbt.core.errors import DataError
from sgbt.data.token_pattern import across_spaces

_APOSTROPHES = "’‘ʼ"

ENGLISH = r"""
    \d+(?:[.,]\d+)*(?!\w)        # numbers: 7, 1,000, 3.5
  | \w+?(?=n't\b) | n't\b        # do|n't, as in the Penn Treebank, so that the verb can be replaced
  | '(?:s|m|d|re|ve|ll)\b        # it|'s, we|'ll
  | \w+                          # words
  | \.\.+ | [^\w\s]              # an ellipsis, and every other mark by itself
"""
"""What is a token of English text. Hyphens separate, so that each half of a compound is a word with a vector.

Whatever word it finds, standing alone, is read as itself. A number, a clitic, an ellipsis or a mark: by the same
alternative, whose lookahead or \\b holds at the end of a text. A run of word characters, cut in front of n't or not: it
has no apostrophe, so either it is all digits and the first alternative takes all of it, or the last but one does.
"""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text with its words: `words[i]`, in lower case, stood at `text[starts[i]:ends[i]]`."""

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    tokenizer: Tokenizer = field(repr=False)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def lowered(self) -> str:
        """The text as the pattern is matched against it, character by character."""
        return lowered(self.text)

    def replace(self, swaps: Mapping[int, str]) -> str:
        """The text with the word at each given position replaced, in the casing that stood there.

        The result, tokenised afresh, is exactly these words with those swaps; what cannot be written is refused.
        """
        text = self.written(swaps)
        if text is None:
            raise DataError(
                expected="substitutes that stay single words when the text is read again",
                got=", ".join(f"{self.words[place]} -> {word}" for place, word in swaps.items()),
                remedy="check the substitution table with Tokenizer.is_word",
            )
        return text

    def written(self, swaps: Mapping[int, str]) -> str | None:
        """The same, or None where no way of writing it reads as these words with those swaps.

        First in place; where a swap would fuse with its neighbour ("two,500" with "2"), with spaces around the swaps;
        last with one space between all words. If a space separates words (`Tokenizer.require_spaces_separate`) and
        every word is one by itself (`Tokenizer.is_word`), the last reads as wanted, so None is never the answer. Every
        word that the default pattern finds is one by itself.
        """
        if beyond := [place for place in swaps if not 0 <= place < len(self)]:
            raise DataError(expected=f"positions from 0 to {len(self) - 1}", got=str(beyond[0]), where="the swaps")
        wanted = tuple(swaps.get(place, word) for place, word in enumerate(self.words))
        for text in self._ways_of_writing(swaps):
            if self.tokenizer.words(text) == wanted:
                return text
        return None

    def _ways_of_writing(self, swaps: Mapping[int, str]) -> Iterator[str]:
        shown = [self.text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]
        pieces, position = [], 0
        for place in sorted(swaps):
            shown[place] = in_casing_of(shown[place], swaps[place])
            pieces += [self.text[position : self.starts[place]], shown[place]]
            position = self.ends[place]
        pieces.append(self.text[position:])
        yield "".join(pieces)
        yield _joined_apart(pieces)
        yield " ".join(shown)


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer given by one verbose regular expression over lower-cased text.

    Lower-casing never changes the length of a text (a letter whose lower case is longer stays as it is), so positions
    in the lower-cased text are positions in the text itself.
    """

    pattern: str = ENGLISH

    def __post_init__(self) -> None:
        if self._compiled.match(""):
            raise DataError(
                expected="a token pattern that never matches the empty text",
                got=repr(self.pattern),
                where="the tokenizer",
            )

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        try:
            compiled = re.compile(self.pattern, re.VERBOSE)
        except (re.error, OverflowError, RecursionError) as problem:
            raise DataError(
                expected="a regular expression that finds tokens",
                got=f"{self.pattern[:200]!r} ({problem})",
                where="the tokenizer",
            ) from problem
        if compiled.groups:
            raise DataError(
                expected="a token pattern without capturing groups",
                got=f"{compiled.groups} of them",
                where="the tokenizer",
                remedy="write (?:...) for each",
            )
        return compiled

    @property
    def spaces_separate(self) -> bool:
        """Whether the words of a text are those of what stands between its spaces, one after the other."""
        return self.pattern == ENGLISH or not across_spaces(self.pattern)  # a test says that the first passes

    def require_spaces_separate(self) -> None:
        """Refuse a pattern under which a space might not separate words (`sgbt.data.token_pattern`).

        Such a tokenizer can read texts, but what is proven about words and their substitutes would not be about texts.
        """
        if not self.spaces_separate:
            fault = across_spaces(self.pattern)
            raise DataError(
                expected="a token pattern by which a space always separates words",
                got=f"{self.pattern!r} (it {fault})",
                where="the tokenizer",
                remedy=r"write \S for any character but white space, and (?!\S) for the end of a word",
            )

    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text, in lower case: the fast path, without positions."""
        return tuple(self._compiled.findall(lowered(text)))

    def words_of_lowered(self, text: str) -> list[str]:
        """The words of a text that `lowered` made."""
        if self.pattern == ENGLISH and text.isalnum():
            return [text]  # letters and digits alone
        return self._compiled.findall(text)

    def tokenize(self, text: str) -> Tokens:
        """The words of a text with their positions."""
        matches = list(self._compiled.finditer(lowered(text)))
        return Tokens(
            text=text,
            words=tuple(match.group() for match in matches),
            starts=tuple(match.start() for match in matches),
            ends=tuple(match.end() for match in matches),
            tokenizer=self,
        )

    def is_word(self, word: str) -> bool:
        """Whether `word` is read as exactly itself: one token, in lower case. Only such words can be substitutes."""
        return self._compiled.findall(lowered(word)) == [word]


def lowered(text: str) -> str:
    """Each letter in lower case by itself: what stands around it never matters, as it would to the Greek sigma."""
    low = text.lower()
    if not low.isascii():
        if len(low) != len(text) or "Σ" in text:
            low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
        for mark in _APOSTROPHES:
            low = low.replace(mark, "'")
    return low


def _joined_apart(pieces: list[str]) -> str:
    """The pieces with a space between any two that would touch."""
    joined = ""
    for piece in pieces:
        touching = joined and piece and not joined[-1].isspace() and not piece[0].isspace()
        joined += f" {piece}" if touching else piece
    return joined


def in_casing_of(original: str, word: str) -> str:
    """The word in the casing of what it replaces, where it is still read as itself then."""
    if len(original) > 1 and original.isupper():
        cased = word.upper()
    elif original[:1].isupper():
        cased = word[:1].upper() + word[1:]
    else:
        cased = word
    return cased if lowered(cased) == word else word
