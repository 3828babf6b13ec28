"""What can stand at every position of a corpus: each allowed word with each code its neighbours can have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models.bag_of_words.features import keys_at
from sgbt.models.bag_of_words.worst_case import CodeSets
from sgbt.threats import SubstitutionIndex

ROWS = 1 << 13
"""Rows of an index whose codes are compared at once."""
OPTIONS_AT_ONCE = 4_000_000
"""Options that are listed at once."""
SPREAD = -7046029254386353131
"""A factor that makes neighbouring keys differ in all bits."""
KEYS_AT_ONCE = 20_000_000
"""Keys that are counted at once; where there may be more, they are counted in several rounds."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What a feature depends on: the codes before and after a word, and the word itself or its code alone."""

    before: bool
    after: bool
    word: bool


READS = {
    "before": Reads(before=True, after=False, word=True),
    "after": Reads(before=False, after=True, word=True),
    "around": Reads(before=True, after=True, word=True),
    "pair": Reads(before=True, after=False, word=False),
    "triple": Reads(before=True, after=True, word=False),
    "skip": Reads(before=True, after=True, word=False),
}
"""By family (`sgbt.models.bag_of_words.features.FAMILIES`)."""


@dataclass(frozen=True, eq=False)
class RowSets:
    """For every row of a substitution index: its words, and the distinct codes of those words, its own code first.

    `ranks` says which of the distinct codes each word has.
    """

    words: Tensor
    word_counts: Tensor
    codes: Tensor
    code_counts: Tensor
    ranks: Tensor

    @staticmethod
    def of(codes: Tensor, index: SubstitutionIndex | None) -> RowSets:
        """From the code of every vocabulary id; without an index, rows are ids and nothing is ever replaced."""
        if index is None:
            own = torch.arange(len(codes)).unsqueeze(1)
            ones = torch.ones(len(codes), dtype=torch.int64)
            return RowSets(own, ones, codes[own], ones, torch.zeros_like(own, dtype=torch.int16))
        parts = [_distinct_codes(codes[choices]) for choices in index.choices.split(ROWS)]
        widest = max(distinct.shape[1] for distinct, _, _ in parts)
        distinct = torch.cat([F.pad(distinct, (0, widest - distinct.shape[1])) for distinct, _, _ in parts])
        counts, ranks = (torch.cat([part[number] for part in parts]) for number in (1, 2))
        return RowSets(index.choices, index.counts, distinct, counts, ranks)

    @cached_property
    def alike(self) -> Tensor:
        """One number for each row; rows of the same codes, the own one first, have the same."""
        places: Tensor = self.codes.unique(dim=0, return_inverse=True)[1]
        return places

    @cached_property
    def by_code(self) -> RowSets:
        """The same rows with one word for each code."""
        if self.words.shape == self.codes.shape == (len(self.words), 1):
            return self
        some = torch.zeros_like(self.codes).scatter(1, self.ranks.long(), self.words)  # any of them
        own = torch.arange(self.codes.shape[1], dtype=torch.int16).expand_as(some)
        return RowSets(some, self.code_counts, self.codes, self.code_counts, own)

    @cached_property
    def code_sizes(self) -> Tensor:
        """How many words of each row have each of its codes, [rows, codes]."""
        counted = torch.arange(self.words.shape[1]) < self.word_counts.unsqueeze(1)
        return torch.zeros_like(self.codes).scatter_add(1, self.ranks.long(), counted.long())


def _distinct_codes(codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct codes of every row of [rows, choices], that of the first choice first, how many they are, and which
    of them each choice has."""
    sets = CodeSets.of(codes.unsqueeze(0))
    distinct, own_rank = sets.codes[0].clone(), sets.ranks[0, :, :1]
    own = distinct.gather(1, own_rank)
    distinct = distinct.scatter(1, own_rank, distinct[:, :1]).scatter(1, torch.zeros_like(own_rank), own)
    ranks = sets.ranks[0]
    ranks = torch.where(ranks == own_rank, 0, torch.where(ranks == 0, own_rank, ranks))
    return distinct, sets.counts[0], ranks.to(torch.int16)


@dataclass(frozen=True, slots=True, eq=False)
class PositionKinds:
    """Positions that have the same options, made one: what hangs on the options alone is found once for all of them.

    Position p is of kind `of_position[p]`. Kind k is a row of the index, `rows[k]`, between the rows `earlier[k]` and
    `later[k]`, of which only the codes matter; row 0 stands beyond the ends of a text.
    """

    of_position: Tensor
    rows: Tensor
    earlier: Tensor
    later: Tensor

    @staticmethod
    def of(rows: Tensor, first: Tensor, sets: RowSets, *, alone: bool) -> PositionKinds:
        """The kinds of positions in a row: `rows` [positions] of the index; `first` marks where a text begins.

        With `alone`, nothing depends on neighbours, and they are left out.
        """
        nothing = rows.new_zeros(1)
        earlier = torch.cat([nothing, rows[:-1]]).masked_fill(first | alone, 0)
        later = torch.cat([rows[1:].masked_fill(first[1:] | alone, 0), nothing])[: len(rows)]
        return _kinds(rows, earlier, later, sets)

    def names(self, sets: RowSets) -> Tensor:
        """One whole number for each kind, the same for the same kind of other texts; they are sorted."""
        return _names(self.rows, self.earlier, self.later, sets)

    def options(self, sets: RowSets) -> int:
        """How many options all kinds have together."""
        return int(self.widths(sets).sum())

    def read_by(self, reads: Reads, sets: RowSets) -> PositionKinds:
        """The kinds that features distinguish, whose positions are the kinds here; what they do not read is row 0."""
        return _kinds(self.rows, self.earlier * reads.before, self.later * reads.after, sets)

    def chosen(self, which: Tensor) -> PositionKinds:
        """Some of the kinds, by number, and no positions."""
        return PositionKinds(which[:0], self.rows[which], self.earlier[which], self.later[which])

    def parts(self, sets: RowSets) -> Iterator[PositionKinds]:
        """Kinds one after the other, some at a time, so that few options have to be listed at once."""
        ends = self.widths(sets).cumsum(0) // OPTIONS_AT_ONCE
        sizes = torch.unique_consecutive(ends, return_counts=True)[1].tolist()
        for which in torch.arange(len(ends)).split(sizes):
            yield self.chosen(which)

    def calm(self, sets: RowSets) -> Tensor:
        """Which kinds have fixed codes, their own and those of their neighbours: their options are words alone."""
        return sets.code_counts[self.rows] * sets.code_counts[self.earlier] * sets.code_counts[self.later] == 1

    def widths(self, sets: RowSets) -> Tensor:
        """How many options each kind has."""
        return sets.word_counts[self.rows] * sets.code_counts[self.earlier] * sets.code_counts[self.later]

    @property
    def counts(self) -> Tensor:
        """How many positions are of each kind."""
        return torch.bincount(self.of_position, minlength=len(self.rows))


def _names(rows: Tensor, earlier: Tensor, later: Tensor, sets: RowSets) -> Tensor:
    size = len(sets.codes)
    return (sets.alike[earlier] * size + rows) * size + sets.alike[later]


def _kinds(rows: Tensor, earlier: Tensor, later: Tensor, sets: RowSets) -> PositionKinds:
    kinds, of_position = _names(rows, earlier, later, sets).unique(return_inverse=True)
    some = [torch.zeros_like(kinds).scatter(0, of_position, each) for each in (rows, earlier, later)]
    return PositionKinds(of_position, *some)


@dataclass(frozen=True, slots=True, eq=False)
class PositionOptions:
    """Every (word, code before, code after) that can stand at each of many positions, one after the other.

    Positions may be kinds of positions. Position p has `widths[p]` of them, from `starts[p]` on; the first is the text
    as it is. Around ambiguous words the options of a position are taken for themselves, which allows combinations
    that no text has: a worst case made of them is an upper bound, and exact for texts without ambiguous words.
    """

    words: Tensor
    before: Tensor
    after: Tensor
    starts: Tensor
    widths: Tensor

    @staticmethod
    def of(kinds: PositionKinds, sets: RowSets) -> PositionOptions:
        """The options of every kind of position."""
        rows, earlier, later = kinds.rows, kinds.earlier, kinds.later
        words, before, after = sets.word_counts[rows], sets.code_counts[earlier], sets.code_counts[later]
        widths = words * before * after
        starts = widths.cumsum(0) - widths
        at = torch.repeat_interleave(widths)
        number = torch.arange(len(at)) - starts[at]
        rest = number // words[at]
        return PositionOptions(
            words=sets.words[rows[at], number % words[at]],
            before=sets.codes[earlier[at], rest % before[at]],
            after=sets.codes[later[at], rest // before[at]],
            starts=starts,
            widths=widths,
        )


def keys_of(family: str, options: PositionOptions, codes: Tensor) -> Tensor:
    """The key of the family's feature at every option."""
    return keys_at([family], options.words, codes[options.words], options.before, options.after).flatten()


def frequent_keys(
    families: Sequence[str], kinds: PositionKinds, sets: RowSets, codes: Tensor, *, minimum_count: int
) -> Tensor:
    """The keys that occur at least `minimum_count` times among the options of all positions, sorted.

    Substitutes count like words of the text: a feature that only substitutes have must have a weight as well, or an
    adversary would wipe out a text's weight by choosing them.
    """
    found = [torch.zeros(0, dtype=torch.int64)]
    for family in families:
        reads = READS[family]
        total = kinds.read_by(reads, sets).options(sets if reads.word else sets.by_code)
        rounds = math.ceil(total / KEYS_AT_ONCE)
        for turn in range(rounds):
            listed, counts = _summed(_counted(family, kinds, sets, codes), turn, rounds)
            found.append(listed[counts >= minimum_count])
    return torch.cat(found).sort().values


def _summed(parts: Iterable[tuple[Tensor, Tensor]], turn: int, rounds: int) -> tuple[Tensor, Tensor]:
    """Every key of this round once, and its counts together."""
    listed = counts = torch.zeros(0, dtype=torch.int64)
    waiting: list[tuple[Tensor, Tensor]] = []
    for keys, times in chain(parts, [(listed, counts)]):
        chosen = slice(None) if rounds == 1 else (keys * SPREAD >> 33) % rounds == turn
        waiting.append((keys[chosen], times[chosen]))
        last = not len(keys)
        if last or sum(len(some) for some, _ in waiting) > max(len(listed) // 2, OPTIONS_AT_ONCE):
            listed, where = torch.cat([listed, *(some for some, _ in waiting)]).unique(return_inverse=True)
            times = torch.cat([counts, *(some for _, some in waiting)])
            counts, waiting = torch.zeros_like(listed).index_add(0, where, times), []
    return listed, counts


def _counted(family: str, kinds: PositionKinds, sets: RowSets, codes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Keys of a family, some at a time, and how many options of positions have each; a key may come several times."""
    reads = READS[family]
    read, own = kinds.read_by(reads, sets), sets if reads.word else sets.by_code
    times = kinds.counts
    for side, is_read in ((kinds.earlier, reads.before), (kinds.later, reads.after)):
        times = times if is_read else times * sets.code_counts[side]
    total, start = torch.zeros_like(read.rows).index_add(0, read.of_position, times), 0
    for some in read.parts(own):
        options = PositionOptions.of(some, own)
        each = total[start : start + len(some.rows)].repeat_interleave(options.widths)
        if not reads.word:
            each = each * PositionOptions.of(some, replace(own, words=sets.code_sizes)).words
        yield keys_of(family, options, codes), each
        start += len(some.rows)
