"""Vocabulary: words as numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sgbt.core.documents import read_json_object
from sgbt.core.errors import LexiconError
from sgbt.core.files import atomic_write

if TYPE_CHECKING:
    from sgbt.threats.table import SubstitutionTable

PADDING, UNKNOWN = 0, 1
"""The ids of what is not a word: the filling after a short text, and any word that the vocabulary does not list."""

FORMAT = "sgbt-vocabulary"
FORMAT_VERSION = 1


def has_bytes(word: str) -> bool:
    """Whether a word can be written to a file, and be hashed: half of a character (a lone surrogate) cannot."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """A one-to-one map between words and the ids 2, 3, ...; id 0 is padding and id 1 any other word.

    `words[i]` has id i + 2. Two vocabularies are equal when they give every word the same id.
    """

    words: tuple[str, ...]
    index: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = tuple(self.words)
        for word in words:
            if not isinstance(word, str) or not word or word.split() != [word]:
                raise LexiconError(expected="words without spaces", got=repr(word), where="the vocabulary")
            if not has_bytes(word):
                raise LexiconError(
                    expected="whole characters", got=f"a lone surrogate, {word!r},", where="the vocabulary"
                )
        index = dict(zip(words, range(2, len(words) + 2), strict=True))
        if len(index) != len(words):
            twice = next(word for place, word in enumerate(words, start=2) if index[word] != place)
            raise LexiconError(expected="distinct words", got=f"{twice!r} twice", where="the vocabulary")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "index", index)

    @classmethod
    def build(
        cls,
        counts: Mapping[str, int],
        *,
        table: SubstitutionTable | None = None,
        vectors: Container[str] | None = None,
        minimum_count: int = 1,
        limit: int | None = None,
    ) -> Vocabulary:
        """The words of a training split, most frequent first, then their substitutes.

        Words that occur less often than `minimum_count` or have no bytes are left out, then all but the first `limit`;
        equally frequent words stand in alphabetical order. With a `table`, the substitutes of the words that stayed are
        added, those with a vector if `vectors` are given: one step, because an adversary replaces words of the text and
        not substitutes of them. Whatever is left out is read as unknown, which is sound, only less precise.
        """
        for name, value in (("minimum_count", minimum_count), ("limit", 0 if limit is None else limit)):
            if value < 0:
                raise LexiconError(expected=f"{name} of at least 0", got=str(value))
        frequent = [word for word in counts if counts[word] >= minimum_count and has_bytes(word)]
        kept = dict.fromkeys(sorted(frequent, key=lambda word: (-counts[word], word))[:limit])
        added: dict[str, None] = {}
        if table is not None:
            substitutes = chain.from_iterable(map(table.substitutes, kept))
            added = dict.fromkeys(word for word in substitutes if word not in kept)
            added = {word: None for word in added if vectors is None or word in vectors}
        return cls((*kept, *added))

    def __len__(self) -> int:
        return len(self.words) + 2

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    @property
    def hash(self) -> str:
        """SHA-256 of the words in their order, 64 hexadecimal digits."""
        return hashlib.sha256("\n".join(("sgbt vocabulary 1", *self.words)).encode()).hexdigest()

    def id_of(self, word: str) -> int:
        """The id of a word; `UNKNOWN` for one that is not listed."""
        return self.index.get(word, UNKNOWN)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The ids of words."""
        get = self.index.get
        return [get(word, UNKNOWN) for word in words]

    def ids_of(self, types: Sequence[str]) -> NDArray[np.int64]:
        """The ids of a corpus's distinct words, to be gathered by whoever numbered them."""
        get = self.index.get
        return np.fromiter((get(word, UNKNOWN) for word in types), dtype=np.int64, count=len(types))

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids, with `<unknown>` for id 1; padding is left out."""
        found = []
        for number in map(int, ids):
            if not 0 <= number < len(self):
                raise LexiconError(expected=f"ids from 0 to {len(self) - 1}", got=str(number), where="the vocabulary")
            if number != PADDING:
                found.append("<unknown>" if number == UNKNOWN else self.words[number - 2])
        return found

    def save(self, path: str | Path) -> None:
        """Write the words as JSON with their hash; all or nothing."""
        document = {"format": FORMAT, "version": FORMAT_VERSION, "hash": self.hash, "words": self.words}
        with atomic_write(Path(path)) as stream:
            stream.write(json.dumps(document, ensure_ascii=False, indent=0).encode())

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read what `save` wrote, and check it against its hash."""
        expected = "a vocabulary that Vocabulary.save wrote"
        document = read_json_object(Path(path), kind=LexiconError, expected=expected)
        if document.get("format") != FORMAT or not document.keys() >= {"version", "hash", "words"}:
            raise LexiconError(expected=expected, got="something else", where=str(path))
        version, hashed, words = document["version"], document["hash"], document["words"]
        if version != FORMAT_VERSION or not isinstance(words, list):
            raise LexiconError(
                expected=f"a vocabulary of version {FORMAT_VERSION}",
                got=f"version {version}",
                where=str(path),
                remedy="upgrade sgbt",
            )
        vocabulary = cls(tuple(words))
        if vocabulary.hash != hashed:
            raise LexiconError(
                expected="the words it was written with",
                got="others",
                where=str(path),
                remedy="it was changed after it was written: save it again",
            )
        return vocabulary
