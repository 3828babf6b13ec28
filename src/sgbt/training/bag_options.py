"""What can stand at every position of a corpus: each allowed word with each code its neighbours can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.lexicon import SubstitutionIndex
from sgbt.models.bag_features import keys_at
from sgbt.models.bag_worst_case import CodeSets


@dataclass(frozen=True, slots=True, eq=False)
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
        sets = CodeSets.of(codes[index.choices].unsqueeze(0))
        distinct, own_rank = sets.codes[0].clone(), sets.ranks[0, :, :1]
        own = distinct.gather(1, own_rank)
        distinct = distinct.scatter(1, own_rank, distinct[:, :1]).scatter(1, torch.zeros_like(own_rank), own)
        return RowSets(index.choices, index.counts, distinct, sets.counts[0])


@dataclass(frozen=True, slots=True, eq=False)
class PositionOptions:
    """Every (word, code before, code after) that can stand at each of many positions, one after the other.

    Position p has `widths[p]` of them, from `starts[p]` on; the first is the text as it is. `calm` marks positions
    whose own code and neighbouring codes are all fixed: there the options differ in the word alone. Around ambiguous
    words the options of a position are taken for themselves, which allows combinations that no text has: a worst case
    made of them is an upper bound, and exact for texts without ambiguous words.
    """

    words: Tensor
    before: Tensor
    after: Tensor
    starts: Tensor
    widths: Tensor
    calm: Tensor

    @staticmethod
    def of(rows: Tensor, first: Tensor, sets: RowSets) -> PositionOptions:
        """The options of positions in a row: `rows` [positions] of the index; `first` marks where a text begins."""
        nothing = rows.new_zeros(1)
        earlier = torch.cat([nothing, rows[:-1]]).masked_fill(first, 0)
        later = torch.cat([rows[1:].masked_fill(first[1:], 0), nothing])[: len(rows)]
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
    families: Sequence[str], options: Sequence[PositionOptions], codes: Tensor, *, minimum_count: int
) -> Tensor:
    """The keys that occur at least `minimum_count` times among the options, sorted.

    Substitutes count like words of the text: a feature that only substitutes have must have a weight as well, or an
    adversary would wipe out a text's weight by choosing them.
    """
    kept = []
    for family in families:
        counted = []
        for part in options:
            keys = keys_at([family], part.words, codes[part.words], part.before, part.after)
            counted.append(keys.flatten())
        keys, counts = torch.cat(counted).unique(return_counts=True)
        kept.append(keys[counts >= minimum_count])
    return torch.cat(kept).sort().values if kept else torch.zeros(0, dtype=torch.int64)
