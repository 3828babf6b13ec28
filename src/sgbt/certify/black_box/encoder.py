"""Encoder: text in, text out, every word replaced by the most frequent word of its synonym cluster.

What reads encoded text alone cannot distinguish two words of one cluster, so substitution within clusters cannot move
it, whatever it is. Words whose substitutes lie in several clusters remain ambiguous: their clusters are choices, and
the texts that the choices make are all that an adversary can show. That is the contract:

    for every text t' of the threat of t, encode(t') is among the texts that `read(t)` writes.

The threat of t are all texts that the tokenizer reads as the words of t with allowed substitutes in some places, and in
which the words that the table does not list are written as in t. Letter case of words that the table lists, spaces, and
line breaks are the adversary's: the encoded text does not depend on them. It depends on the words and, of those that
the table does not list, on their letter case.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sgbt.certify.black_box.rendering import rendered
from sgbt.core.errors import LexiconError
from sgbt.core.files import atomic_write
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable
from sgbt.threats.synonym_clusters import synonym_clusters

FORMAT, VERSION = "sgbt-encoder", 1
DISTINCTION, RELEVANCE = 0.03, 1.0
"""Chosen on a dev split of IMDB's train texts."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The encoded words of a text, and at ambiguous places the other words that an adversary can bring about there.

    `others` has the places in their order; each lists code words that differ from the one of the text itself.
    """

    pieces: tuple[str, ...]
    others: Mapping[int, tuple[str, ...]]
    replaceable: int
    tokenizer: Tokenizer

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self.pieces)

    @property
    def ambiguous(self) -> int:
        """How many of them can become a word of another cluster."""
        return len(self.others)

    def written(self, swaps: Mapping[int, str] | None = None) -> str:
        """The text as the model reads it, with other code words in some places."""
        if not swaps:
            return rendered(self.pieces, self.tokenizer)
        return rendered([swaps.get(place, piece) for place, piece in enumerate(self.pieces)], self.tokenizer)

    def part(self, places: range, swaps: Mapping[int, str]) -> str:
        """What stands at some places that follow each other."""
        if len(places) == 1:
            return swaps.get(places[0]) or self.pieces[places[0]]
        return rendered([swaps.get(place) or self.pieces[place] for place in places], self.tokenizer)

    def combinations(self, max_substitutions: int | None = None) -> int:
        """How many sequences of code words there are with at most so many words replaced: an exact whole number."""
        most = len(self.others) if max_substitutions is None else min(max_substitutions, len(self.others))
        ways = [1] + [0] * most  # ways[k]: with exactly k places changed
        for others in self.others.values():
            for changes in range(most, 0, -1):
                ways[changes] += len(others) * ways[changes - 1]
        return sum(ways)


@dataclass(frozen=True, eq=False)
class Encoder:
    """A table, and for every word that it lists the word that stands for its cluster.

    Any map is sound; a good one keeps words of different meaning apart and leaves few words ambiguous.
    """

    table: SubstitutionTable
    codes: Mapping[str, str]
    tokenizer: Tokenizer = Tokenizer()  # noqa: RUF009 - a frozen value

    def __post_init__(self) -> None:
        self.table.require_read_by(self.tokenizer)
        codes = dict(self.codes)
        missing = next((word for word in listed(self.table) if word not in codes), None)
        odd = next((code for code in codes.values() if not self.tokenizer.is_word(code)), None)
        if missing is not None or odd is not None:
            raise LexiconError(
                expected="one word in lower case for every word of the table",
                got=f"none for {missing!r}" if missing is not None else repr(odd),
                where="the codes of an encoder",
            )
        object.__setattr__(self, "codes", MappingProxyType(codes))

    @staticmethod
    def fit(
        texts: Sequence[str],
        table: SubstitutionTable,
        labels: Sequence[Hashable] | None = None,
        *,
        distinction: float = DISTINCTION,
        relevance: float = RELEVANCE,
        tokenizer: Tokenizer | None = None,
    ) -> Encoder:
        """The encoder of a table for texts like these (`sgbt.threats.synonym_clusters`).

        A larger `distinction` keeps more words apart: more accuracy, fewer proofs. Where `labels` are given, words that
        say much about them are kept apart, by `relevance`.
        """
        require_weights(distinction, relevance)
        tokenizer = tokenizer or Tokenizer()
        counts = word_counts(texts, labels, tokenizer)
        codes = synonym_clusters(table.entries, counts, distinction=distinction, relevance=relevance)
        return Encoder(table, codes, tokenizer)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of table, codes and token pattern: what certificates name."""
        digest = hashlib.sha256(f"{FORMAT} {VERSION}\n{self.table.hash}\n{self.tokenizer.pattern}\n".encode())
        for word in sorted(self.codes):
            digest.update(f"{word}\t{self.codes[word]}\n".encode())
        return digest.hexdigest()

    @property
    def summary(self) -> str:
        """What it knows, in figures."""
        return f"{len(self.codes):,} words in {len(set(self.codes.values())):,} clusters"

    def encode(self, text: str) -> str:
        """The text as models read it; nothing of it depends on which word of a cluster was written."""
        codes, tokens = self.codes, self.tokenizer.tokenize(text)
        shown = zip(tokens.words, tokens.starts, tokens.ends, strict=True)
        return rendered([codes.get(word) or text[start:end] for word, start, end in shown], self.tokenizer)

    def read(self, text: str, *, most: int | None = None) -> EncodedText:
        """The text with every choice that an adversary has; they are few enough to list, whatever `most` says."""
        codes, tokens = self.codes, self.tokenizer.tokenize(text)
        shown = zip(tokens.words, tokens.starts, tokens.ends, strict=True)
        return EncodedText(
            tuple(codes.get(word) or text[start:end] for word, start, end in shown),
            {place: others for place, word in enumerate(tokens.words) if (others := self._others.get(word))},
            sum(word in self.table for word in tokens.words),
            self.tokenizer,
        )

    @property
    def threat_hash(self) -> str:
        """What certificates call the threat: the hash of its table."""
        return self.table.hash

    def witness(self, text: str, swaps: Mapping[int, str]) -> str:
        """A text of the threat that is encoded with these choices."""
        tokens = self.tokenizer.tokenize(text)
        return tokens.replace({place: self._substitute(tokens.words[place], code) for place, code in swaps.items()})

    def _substitute(self, word: str, code: str) -> str:
        """A word that may stand in for `word` and is encoded as `code`; the word itself where that is so encoded."""
        return next(each for each in (word, *self.table.substitutes(word)) if self.codes.get(each, each) == code)

    @cached_property
    def _others(self) -> dict[str, tuple[str, ...]]:
        """For every ambiguous word, the codes of its substitutes other than its own."""
        found = {}
        for word, substitutes in self.table.entries.items():
            others = dict.fromkeys(self.codes[substitute] for substitute in substitutes)
            others.pop(self.codes[word], None)
            if others:
                found[word] = tuple(others)
        return found

    def to_json(self, path: str | Path) -> None:
        """Write table and codes to one file; all or nothing."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "hash": self.hash,
            "pattern": self.tokenizer.pattern,
            "name": self.table.name,
            "table": {word: list(substitutes) for word, substitutes in self.table.entries.items()},
            "codes": dict(self.codes),
        }
        with atomic_write(Path(path)) as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())

    @staticmethod
    def of_stored(stored: Mapping[str, Any]) -> Encoder:
        """The encoder that `to_json` wrote."""
        return Encoder(
            SubstitutionTable(stored["table"], str(stored["name"])),
            {str(word): str(code) for word, code in stored["codes"].items()},
            Tokenizer(str(stored["pattern"])),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (self.table, dict(self.codes), self.tokenizer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoder) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)


def listed(table: SubstitutionTable) -> set[str]:
    """Every word of a table, as one that is replaced or as a substitute."""
    return set(table.entries).union(*table.entries.values())


def require_weights(distinction: float, relevance: float) -> None:
    """Refuse weights that clusters cannot be chosen by."""
    if not (0 <= distinction < math.inf and 0 <= relevance < math.inf):
        got = f"{distinction} and {relevance}"
        raise LexiconError(expected="distinction and relevance, numbers of at least 0", got=got)


def word_counts(texts: Sequence[str], labels: Sequence[Hashable] | None, tokenizer: Tokenizer) -> dict[str, list[int]]:
    """How often every word occurs in texts of each label."""
    kinds = dict.fromkeys([None] * len(texts) if labels is None else labels)
    numbers = dict(zip(kinds, range(len(kinds)), strict=True))
    counts: dict[str, list[int]] = {}
    for text, label in zip(texts, [None] * len(texts) if labels is None else labels, strict=True):
        for word, count in Counter(tokenizer.words(text)).items():
            counts.setdefault(word, [0] * len(numbers))[numbers[label]] += count
    return counts
