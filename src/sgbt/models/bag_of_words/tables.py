"""The options of positions around ambiguous words, without a list of all of them.

An option is a word with a code before it and a code after it: W words between A and C codes are W * A * C options. But
a family of features reads only some of the three (`READS`), so its features are listed once for all kinds of positions
that differ in the others: W * A numbers, or W * C, or those of codes alone. The scores of all options are sums of such
tables, and are added up for some kinds at a time while the worst is looked for. What is found is what a list of all
options would give, in a small part of its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import torch
from torch import Tensor

from sgbt.models.bag_of_words.features import places_of
from sgbt.models.bag_of_words.model import BagOfWords
from sgbt.models.bag_of_words.options import READS, PositionKinds, PositionOptions, Reads, RowSets, keys_of

SCORES_AT_ONCE = 1 << 20
"""Scores of options that are added up together."""
SIZES = torch.tensor([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1 << 62])
"""Kinds with so many words or codes, or fewer, are worked on together; their last one is repeated up to there."""
WORD = Reads(before=False, after=False, word=True)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The features of one family: those of kind k from `starts[k]` on, later codes outermost and words innermost."""

    reads: Reads
    features: Tensor
    starts: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The options of some kinds of positions as sums of tables, one for each feature of a position.

    Kind k has `words[k]` words of `codes[k]` codes, between `before[k]` and `after[k]` codes. `rows[k]` is its row in
    `ranks`, which says of every word of a row which of its codes it has. `names` are those of the kinds, sorted: kinds
    of all texts share these tables.
    """

    tables: tuple[FeatureTable, ...]
    names: Tensor
    rows: Tensor
    words: Tensor
    codes: Tensor
    before: Tensor
    after: Tensor
    ranks: Tensor

    @staticmethod
    def of(model: BagOfWords, kinds: PositionKinds, sets: RowSets) -> Options:
        """The options of all given kinds, whose names are sorted."""
        tables = [_table(model, None, WORD, kinds, sets)]
        tables += [_table(model, name, READS[name], kinds, sets) for name in model.config.features]
        return Options(
            tables=tuple(tables),
            names=kinds.names(sets),
            rows=kinds.rows,
            words=sets.word_counts[kinds.rows],
            codes=sets.code_counts[kinds.rows],
            before=sets.code_counts[kinds.earlier],
            after=sets.code_counts[kinds.later],
            ranks=sets.ranks,
        )

    def numbers(self, kinds: PositionKinds, sets: RowSets) -> Tensor:
        """The numbers that the given kinds have here."""
        return torch.searchsorted(self.names, kinds.names(sets))

    def original(self, kinds: Tensor) -> Tensor:
        """The features that the text itself has at kinds of these numbers, [kinds, features]."""
        return torch.stack([table.features[table.starts[kinds]] for table in self.tables], dim=1)

    @torch.no_grad()
    def worst(self, kinds: Tensor, difference: Tensor) -> Tensor:
        """The features of the option of each kind whose values add up to the most, [kinds, features]."""
        found = torch.empty(len(kinds), len(self.tables), dtype=torch.int32)
        for chosen, sizes in self._groups(kinds):
            grid = _Grid.of(self, kinds[chosen], sizes)
            scores = in_order([grid.spread(table, difference) for table in self.tables])
            best = scores.expand(len(chosen), *sizes).flatten(1).argmax(dim=1)
            for column, table in enumerate(self.tables):
                found[chosen, column] = table.features[grid.at(table, best)]
        return found

    def _groups(self, kinds: Tensor) -> Iterator[tuple[Tensor, tuple[int, int, int]]]:
        """Places of some kinds at a time, and how many later codes, earlier codes and words each has at most."""
        counts = [each[kinds] for each in (self.after, self.before, self.words)]
        rounded = [torch.searchsorted(SIZES, each) for each in counts]
        shape = (rounded[0] * len(SIZES) + rounded[1]) * len(SIZES) + rounded[2]
        order = shape.argsort(stable=True)
        for part in order.split(torch.unique_consecutive(shape[order], return_counts=True)[1].tolist()):
            later, earlier, words = (int(each[part].max()) for each in counts)
            for chosen in part.split(max(SCORES_AT_ONCE // (later * earlier * words), 1)):
                yield chosen, (later, earlier, words)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Kinds of about one size: all their options as [kinds, later codes, earlier codes, words].

    What kinds have less of is repeated: `later`, `earlier`, `word` and `code` [kinds, sizes] say what stands for what.
    """

    kinds: Tensor
    sizes: tuple[int, int, int]
    words: Tensor
    codes: Tensor
    before: Tensor
    later: Tensor
    earlier: Tensor
    word: Tensor
    code: Tensor
    ranks: Tensor

    @staticmethod
    def of(given: Options, kinds: Tensor, sizes: tuple[int, int, int]) -> _Grid:
        lists = (given.words, given.codes, given.before, given.after)
        words, codes, before, after = (each.index_select(0, kinds).unsqueeze(1) for each in lists)
        asked = zip((after, before, words, codes), (*sizes, int(codes.max())), strict=True)
        later, earlier, word, code = (torch.arange(size).minimum(count - 1) for count, size in asked)
        ranks = given.ranks[given.rows.index_select(0, kinds).unsqueeze(1), word].long()
        return _Grid(kinds, sizes, words, codes, before, later, earlier, word, code, ranks)

    def spread(self, table: FeatureTable, values: Tensor) -> Tensor:
        """The values of a table's features; a dimension of what it does not read has size one."""
        reads, count = table.reads, len(self.kinds)
        places = table.starts.index_select(0, self.kinds).view(-1, 1, 1)
        inner = self.words if reads.word else self.codes
        if reads.before:
            places = places + (self.earlier * inner).unsqueeze(1)
        if reads.after:
            step = inner * self.before if reads.before else inner
            places = places + (self.later * step).unsqueeze(2)
        places = places.unsqueeze(3) + (self.word if reads.word else self.code).view(count, 1, 1, -1)
        features = table.features.index_select(0, places.flatten())
        found = values.index_select(0, features).view_as(places)
        if reads.word:
            return found
        return found.gather(3, self.ranks.view(count, 1, 1, -1).expand(*found.shape[:3], -1))

    def at(self, table: FeatureTable, option: Tensor) -> Tensor:
        """Where a table has the feature of one option of each kind."""
        reads, (_, earlier_size, words) = table.reads, self.sizes
        option = option.unsqueeze(1)
        word, earlier, later = option % words, option // words % earlier_size, option // (words * earlier_size)
        inner = self.words if reads.word else self.codes
        last = self.word.gather(1, word) if reads.word else self.ranks.gather(1, word)
        outer = torch.zeros_like(last)
        if reads.after:
            outer = self.later.gather(1, later) * (self.before if reads.before else 1)
        if reads.before:
            outer = outer + self.earlier.gather(1, earlier)
        return table.starts[self.kinds] + (outer * inner + last).squeeze(1)


def in_order(parts: Sequence[Tensor]) -> Tensor:
    """The sum of the parts, rounded as `Tensor.sum` rounds that of so many float32 numbers: from the fifth on they are
    added to the first."""
    return reduce(add, [parts[0], *parts[4:], *parts[1:4]])


def _table(model: BagOfWords, family: str | None, reads: Reads, kinds: PositionKinds, sets: RowSets) -> FeatureTable:
    read, own = kinds.read_by(reads, sets), sets if reads.word else sets.by_code
    parts, widths = [torch.zeros(0, dtype=torch.int32)], [torch.zeros(0, dtype=torch.int64)]
    for some in read.parts(own):
        options = PositionOptions.of(some, own)
        widths.append(options.widths)
        if family is None:
            parts.append(options.words.to(torch.int32))
            continue
        places = places_of(model.keys, keys_of(family, options, model.codes))
        parts.append(torch.where(places >= 0, places + len(model.codes), 0).to(torch.int32))
    width = torch.cat(widths)
    return FeatureTable(reads, torch.cat(parts), (width.cumsum(0) - width)[read.of_position])
