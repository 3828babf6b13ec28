"""What can stand at every position of a corpus: each allowed word with each code its neighbours can have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.lexicon import SubstitutionIndex
from sgbt.models.bag_features import keys_at
from sgbt.models.bag_worst_case import CodeSets

ROWS = 1 << 13
"""Rows of an index whose codes are compared at once."""


@dataclass(frozen=True, eq=False)
class RowSets:
    """For every row of a substitution index: its words, and the distinct codes of those words, its own code first."""

    words: Tensor
    word_counts: Tensor
    codes: Tensor
    code_counts: Tensor

    @staticmethod
    def of(codes: Tensor, index: SubstitutionIndex | None) -> RowSets:
        """From the code of every vocabulary id; without an index, rows are ids and nothing is ever replaced."""
        if index is None:
            own = torch.arange(len(codes)).unsqueeze(1)
            ones = torch.ones(len(codes), dtype=torch.int64)
            return RowSets(own, ones, codes[own], ones)
        parts = [_distinct_codes(codes[choices]) for choices in index.choices.split(ROWS)]
        widest = max(distinct.shape[1] for distinct, _ in parts)
        distinct = torch.cat([F.pad(distinct, (0, widest - distinct.shape[1])) for distinct, _ in parts])
        return RowSets(index.choices, index.counts, distinct, torch.cat([counts for _, counts in parts]))

    @cached_property
    def alike(self) -> Tensor:
        """One number for each row; rows of the same codes, the own one first, have the same."""
        return self.codes.unique(dim=0, return_inverse=True)[1]


def _distinct_codes(codes: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct codes of every row of [rows, choices], that of the first choice first, and how many."""
    sets = CodeSets.of(codes.unsqueeze(0))
    distinct, own_rank = sets.codes[0].clone(), sets.ranks[0, :, :1]
    own = distinct.gather(1, own_rank)
    distinct = distinct.scatter(1, own_rank, distinct[:, :1]).scatter(1, torch.zeros_like(own_rank), own)
    return distinct, sets.counts[0]


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
        alike, size = sets.alike, len(sets.codes)
        names = (alike[earlier] * size + rows) * size + alike[later]
        kinds, of_position = names.unique(return_inverse=True)
        some = [torch.zeros_like(kinds).scatter(0, of_position, each) for each in (rows, earlier, later)]
        return PositionKinds(of_position, *some)

    def options(self, sets: RowSets) -> int:
        """How many options all kinds have together."""
        before, after = sets.code_counts[self.earlier], sets.code_counts[self.later]
        return int((sets.word_counts[self.rows] * before * after).sum())

    @property
    def counts(self) -> Tensor:
        """How many positions are of each kind."""
        return torch.bincount(self.of_position, minlength=len(self.rows))


@dataclass(frozen=True, slots=True, eq=False)
class PositionOptions:
    """Every (word, code before, code after) that can stand at each of many positions, one after the other.

    Positions may be kinds of positions. Position p has `widths[p]` of them, from `starts[p]` on; the first is the text
    as it is. `calm` marks positions whose own code and neighbouring codes are all fixed: there the options differ in
    the word alone. Around ambiguous words the options of a position are taken for themselves, which allows combinations
    that no text has: a worst case made of them is an upper bound, and exact for texts without ambiguous words.
    """

    words: Tensor
    before: Tensor
    after: Tensor
    starts: Tensor
    widths: Tensor
    calm: Tensor

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
            calm=sets.code_counts[rows] * before * after == 1,
        )


def frequent_keys(
    families: Sequence[str], parts: Iterable[tuple[PositionOptions, Tensor]], codes: Tensor, *, minimum_count: int
) -> Tensor:
    """The keys that occur at least `minimum_count` times among the options, sorted.

    A part has the options of kinds of positions, and how many positions are of each kind. Substitutes count like words
    of the text: a feature that only substitutes have must have a weight as well, or an adversary would wipe out a
    text's weight by choosing them.
    """
    nothing = torch.zeros(0, dtype=torch.int64)
    found = dict.fromkeys(families, (nothing, nothing))
    for part, positions in parts:
        times = positions.repeat_interleave(part.widths)
        for family, (listed, counts) in found.items():
            keys = keys_at([family], part.words, codes[part.words], part.before, part.after).flatten()
            listed, where = torch.cat([listed, keys]).unique(return_inverse=True)
            summed = torch.zeros_like(listed).index_add(0, where, torch.cat([counts, times]))
            found[family] = (listed, summed)
    kept = [listed[counts >= minimum_count] for listed, counts in found.values()]
    return torch.cat([*kept, nothing]).sort().values
