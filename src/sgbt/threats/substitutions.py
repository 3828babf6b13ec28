"""Substitutions: for one batch, the ids that may stand at every position."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.errors import LexiconError
from sgbt.threats.statistics import SHOWN, BatchStatistics
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.vocabulary import PADDING, UNKNOWN, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Substitutions:
    """What a model may be shown at each position of a batch of texts.

    `ids` [texts, words, 1 + s] lists the choices and `allowed`, of the same shape, says which of them count. Slot 0 is
    the word itself and always counts; the choices of a position are distinct; a slot that does not count repeats slot
    0, so that a minimum or maximum over all slots is right even without the mask. At padding there is only padding.
    """

    ids: Tensor
    allowed: Tensor

    def __post_init__(self) -> None:
        ids, allowed = self.ids, self.allowed
        if ids.dim() != 3 or ids.shape[2] < 1 or ids.shape != allowed.shape:
            raise LexiconError(
                expected="ids and allowed of one shape [texts, words, choices]",
                got=f"{tuple(ids.shape)} and {tuple(allowed.shape)}",
                where="Substitutions",
            )
        if ids.dtype != torch.int64 or allowed.dtype != torch.bool:
            raise LexiconError(
                expected="int64 ids and bool allowed", got=f"{ids.dtype} and {allowed.dtype}", where="Substitutions"
            )
        if not bool(allowed[..., 0].all()):
            raise LexiconError(expected="the word itself allowed everywhere", got="not", where="Substitutions")

    @property
    def original(self) -> Tensor:
        """The ids of the texts themselves, [texts, words]."""
        return self.ids[..., 0]

    @property
    def mask(self) -> Tensor:
        """True at words, False at padding, [texts, words]."""
        return self.original != PADDING

    @property
    def choices(self) -> Tensor:
        """How many ids may stand at each position, the original included, [texts, words]."""
        return self.allowed.sum(dim=2)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, texts: slice | Tensor | list[int]) -> Substitutions:
        return Substitutions(self.ids[texts], self.allowed[texts])

    def to(self, device: torch.device | str) -> Substitutions:
        """The same value on another device."""
        return Substitutions(self.ids.to(device), self.allowed.to(device))

    def combinations(self, text: int) -> int:
        """How many different id sequences one text can become, itself included: an exact whole number."""
        return math.prod(self.choices[text].tolist())

    def describe(self, vocabulary: Vocabulary) -> BatchStatistics:
        """For a person: how many words can be replaced, how many variants that makes, which words have most choices."""
        choices, mask = self.choices, self.mask
        logarithms = choices.double().log10().sum(dim=1)
        distinct = torch.unique(torch.stack([self.original.flatten(), choices.flatten()], dim=1), dim=0).tolist()
        best: dict[str, int] = {}
        for number, count in sorted(distinct, key=lambda pair: -pair[1]):
            if len(best) == SHOWN or count == 1:
                break
            best.setdefault(vocabulary.decode([number])[0], count - 1)
        return BatchStatistics(
            texts=len(self),
            words=int(mask.sum()),
            replaceable=int(((choices > 1) & mask).sum()),
            log10_combinations=tuple(logarithms.tolist()),
            most=tuple(best.items()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SubstitutionIndex:
    """For every word that a text may hold, the ids a model may be shown in its place.

    Row r of `choices` [rows, 1 + s] starts with `counts[r]` distinct ids, the word's own first; the rest repeat it.
    Rows 0 to V - 1 belong to the vocabulary's ids. After them come the words that the table lists and the vocabulary
    does not: a model reads such a word as unknown, but its substitutes are words like any other, and a certificate
    that forgot them would be wrong. `outside` gives their rows.

    A substitute that the vocabulary does not list becomes the unknown id: that is what the model would be shown.
    """

    table: SubstitutionTable
    vocabulary: Vocabulary
    choices: Tensor
    counts: Tensor
    outside: Mapping[str, int]

    @classmethod
    def build(
        cls, table: SubstitutionTable, vocabulary: Vocabulary, *, stop_words: Collection[str] = ()
    ) -> SubstitutionIndex:
        """Join a table and a vocabulary. `stop_words` are never replaced; the `table` of the result is without them."""
        if stop_words:
            table = table.without(stop_words)
        outside = {word: row for row, word in enumerate(_listed_only(table, vocabulary), start=len(vocabulary))}
        own = list(range(len(vocabulary))) + [UNKNOWN] * len(outside)
        names = chain(("", ""), vocabulary.words, outside)
        rows = [
            tuple(dict.fromkeys((number, *vocabulary.encode(table.substitutes(word)))))
            for number, word in zip(own, names, strict=True)
        ]
        counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        choices = np.repeat(np.array(own, dtype=np.int64)[:, None], int(counts.max()), axis=1)
        filled = np.arange(choices.shape[1]) < counts[:, None]
        choices[filled] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(counts.sum()))
        return cls(table, vocabulary, torch.from_numpy(choices), torch.from_numpy(counts), outside)

    @property
    def complete(self) -> bool:
        """Whether the vocabulary lists every word that the table can replace: then ids alone say everything."""
        return not self.outside

    def rows_of(self, types: Sequence[str]) -> NDArray[np.int64]:
        """The rows of a corpus's distinct words: number its words by them, and a batch is one gather (`for_rows`)."""
        inside, outside = self.vocabulary.index, self.outside
        rows = (inside.get(word) or outside.get(word, UNKNOWN) for word in types)
        return np.fromiter(rows, dtype=np.int64, count=len(types))

    def for_words(self, texts: Sequence[Sequence[str]]) -> Substitutions:
        """The substitutions of texts given as words, padded to the longest. Always sound."""
        longest = max((len(words) for words in texts), default=0)
        rows = np.full((len(texts), longest), PADDING, dtype=np.int64)
        for place, words in enumerate(texts):
            rows[place, : len(words)] = self.rows_of(words)
        return self.for_rows(torch.from_numpy(rows))

    def for_ids(self, ids: Tensor, *, unknown_is_fixed: bool = False) -> Substitutions:
        """The substitutions of texts given as ids, [texts, words].

        An id of 1 does not say which word it was. If the vocabulary is `complete`, none of the words it can stand for
        has substitutes, and ids say everything. Otherwise a batch with unknown words is refused, unless
        `unknown_is_fixed` states the rule that an adversary leaves unknown words alone: right for training, or where
        that is the threat model, but not for certifying texts in which such words may be replaced (use `for_words`).
        """
        if not (self.complete or unknown_is_fixed) and bool((ids == UNKNOWN).any()):
            raise LexiconError(
                expected=f"texts as words: {len(self.outside):,} words with substitutes are not in the vocabulary",
                got="ids in which some word is unknown",
                where="SubstitutionIndex.for_ids",
                remedy="use for_words, or unknown_is_fixed=True if unknown words are never replaced",
            )
        if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < len(self.vocabulary)):
            raise LexiconError(
                expected=f"ids from 0 to {len(self.vocabulary) - 1}",
                got=f"{int(ids.min())} to {int(ids.max())}",
                where="SubstitutionIndex.for_ids",
            )
        return self.for_rows(ids)

    def for_rows(self, rows: Tensor) -> Substitutions:
        """The substitutions of texts given as rows of this index (`rows_of`), [texts, words]; padding is row 0.

        Slots that no position of the batch needs are cut off.
        """
        if rows.dim() != 2:
            raise LexiconError(expected="numbers [texts, words]", got=f"shape {tuple(rows.shape)}")
        device, rows = rows.device, rows.cpu()
        counts = self.counts[rows]
        widest = int(counts.max()) if counts.numel() else 1
        allowed = torch.arange(widest) < counts[..., None]
        return Substitutions(self.choices[:, :widest][rows].to(device), allowed.to(device))


def _listed_only(table: SubstitutionTable, vocabulary: Vocabulary) -> list[str]:
    """The words that the table can replace and the vocabulary does not list, in alphabetical order."""
    return sorted(word for word in table.entries if word not in vocabulary)
