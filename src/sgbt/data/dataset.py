"""TextDataset: labelled texts in three distinct splits, and how dev or test is cut: stratified, seeded, by groups."""

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


@dataclass(frozen=True, slots=True)
class Cut:
    """Row numbers of the two parts."""

    kept: np.ndarray
    taken: np.ndarray


def cut(labels: np.ndarray, fraction: float, *, seed: int, groups: Sequence[object]) -> Cut:
    """Take about `fraction` of the rows of each label, whole groups at a time, chosen by `seed`.

    Groups are shuffled and taken until the next would pass the label's share; each label keeps at least one group.
    """
    generator = np.random.default_rng(seed)
    taken: list[int] = []
    spoken_for: dict[object, bool] = {}
    for label in np.unique(labels):
        members: dict[object, list[int]] = {}
        for row in np.flatnonzero(labels == label).tolist():
            members.setdefault(groups[row], []).append(row)
        wanted = round(fraction * sum(map(len, members.values())))
        names = list(members)
        free = len(names) - 1  # one group at least stays
        for place in generator.permutation(len(names)):
            name, rows = names[place], members[names[place]]
            # a group with two labels goes where its first label went
            chosen = spoken_for.setdefault(name, free > 0 and len(rows) <= wanted)
            if chosen:
                taken += rows
                wanted -= len(rows)
                free -= 1
    picked = np.zeros(len(labels), dtype=bool)
    picked[taken] = True
    for label in np.unique(labels):
        if picked[labels == label].all():  # its only group has another label as well, and went with that
            returned = groups[int(np.argmax(labels == label))]
            picked[[row for row in range(len(labels)) if groups[row] == returned]] = False
    return Cut(kept=np.flatnonzero(~picked), taken=np.flatnonzero(picked))


def mixed(labels: np.ndarray, *, seed: int) -> np.ndarray:
    """An order of all rows, random but for this: whoever takes the first n has every label in its share of the whole.

    Among the first n, a label that k of N rows have occurs within one of n k / N times for two labels, and within the
    number of labels for more: the rows of each label are shuffled and then spread evenly from 0 to 1.
    """
    generator = np.random.default_rng(seed)
    places = np.empty(len(labels))
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(places, kind="stable")


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
