"""TextDataset: labelled texts in three distinct splits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from sgbt.core.errors import DataError
from sgbt.data.tokenised import TokenisedTexts, tokenise
from sgbt.data.tokenizer import Tokenizer

LONGEST = 50_000
"""Words of the longest text that is accepted: a longer one is a joined file or a broken quote, not a text."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled text."""

    text: str
    label: int


@dataclass(frozen=True, eq=False)
class Split:
    """Labelled texts that play one role. `labels[i]` numbers the label of `texts[i]` in the dataset's `label_names`."""

    name: str
    texts: tuple[str, ...]
    labels: np.ndarray

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise DataError(
                expected="one label for each text",
                got=f"{len(self.texts)} texts and {len(self.labels)} labels",
                where=self.name,
            )

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Example]:
        return (Example(text, int(label)) for text, label in zip(self.texts, self.labels, strict=True))

    @overload
    def __getitem__(self, which: int) -> Example: ...
    @overload
    def __getitem__(self, which: slice) -> Split: ...
    def __getitem__(self, which: int | slice) -> Example | Split:
        if isinstance(which, slice):
            return Split(self.name, self.texts[which], self.labels[which])
        return Example(self.texts[which], int(self.labels[which]))

    def take(self, rows: Sequence[int] | np.ndarray) -> Split:
        """The texts of the given rows, in that order."""
        rows = np.asarray(rows, dtype=np.int64)
        return Split(self.name, tuple(self.texts[row] for row in rows), self.labels[rows])

    def last_words(self, count: int) -> Split:
        """The same texts, each from the last but `count` of its words on; a text of fewer words as it is."""
        if count < 1:
            raise DataError(expected="at least 1 word", got=str(count), where="last_words")
        return Split(self.name, tuple(_ending(text, count) for text in self.texts), self.labels)

    def tokenised(self, tokenizer: Tokenizer | None = None) -> TokenisedTexts:
        """The words of every text, from the cache when these texts were tokenised before."""
        return tokenise(self.texts, tokenizer)

    @property
    def hash(self) -> str:
        """The SHA-256 of texts and labels in their order."""
        return _hash_of(piece for example in self for piece in (str(example.label), example.text))


def _ending(text: str, count: int) -> str:
    starts = Tokenizer().tokenize(text).starts
    return text if len(starts) <= count else text[starts[-count] :]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How many texts occur more than once: extra copies within a split, and test texts that train has as well."""

    within_train: int
    within_test: int
    shared: int

    def __str__(self) -> str:
        return f"{self.within_train} repeated in train, {self.within_test} in test, {self.shared} of test also in train"


@dataclass(frozen=True, eq=False)
class TextDataset:
    """Labelled texts in three splits that share no role: fit on train, choose on dev, and report on test, once."""

    name: str
    label_names: tuple[str, ...]
    train: Split
    dev: Split
    test: Split
    duplicates: Duplicates = field(default=Duplicates(0, 0, 0))

    def __post_init__(self) -> None:
        if len(self.label_names) < 2:
            raise DataError(
                expected="at least two different labels",
                got=f"only {', '.join(self.label_names) or 'none'}",
                where=self.name,
                remedy="check the label column",
            )
        if odd := odd_label_names(self.label_names):
            raise DataError(expected="label names that are texts, not empty and distinct", got=odd, where=self.name)
        if not len(self.train):
            raise DataError(expected="texts to train on", got="none", where=self.name)

    @property
    def classes(self) -> int:
        """The number of labels."""
        return len(self.label_names)

    @property
    def splits(self) -> tuple[Split, Split, Split]:
        """Train, dev and test."""
        return self.train, self.dev, self.test

    @property
    def hash(self) -> str:
        """The SHA-256 of all splits and the label names: it goes into every run record."""
        return _hash_of([*self.label_names, *(split.hash for split in self.splits)])


def odd_label_names(names: Sequence[object]) -> str | None:
    """What is wrong with the names of labels, if anything: each is a text, not empty, and different from the others."""
    seen: set[object] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            return repr(name)[:60]
        if name in seen:
            return f"{name[:60]!r} twice"
        seen.add(name)
    return None


def _hash_of(pieces: Iterable[str]) -> str:
    """The SHA-256 of the pieces, each behind its length, so that no two sequences of pieces look alike."""
    whole = hashlib.sha256()
    for piece in pieces:
        content = piece.encode("utf-8", "surrogatepass")
        whole.update(len(content).to_bytes(8, "little"))
        whole.update(content)
    return whole.hexdigest()


def count_duplicates(train: Sequence[str], test: Sequence[str]) -> Duplicates:
    """Texts that occur again, letter by letter."""
    in_train, in_test = Counter(train), Counter(test)
    return Duplicates(
        within_train=len(train) - len(in_train),
        within_test=len(test) - len(in_test),
        shared=sum(number for text, number in in_test.items() if text in in_train),
    )
