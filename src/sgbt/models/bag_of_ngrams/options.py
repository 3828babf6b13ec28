"""Which runs of codes a text has whatever is replaced, and which it may have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.errors import ModelError
from sgbt.models.bag_of_ngrams.cells import GramCells
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, MAP_SHIFT, distinct_runs, last_words

Array = NDArray[Any]
MOST = 4096
"""Ways to fill one cell; one that has more is cut into pieces."""


class TooManyRunsError(Exception):
    """There is no room for all the runs that substitution can bring."""


@dataclass(frozen=True, slots=True, eq=False)
class GramOptions:
    """The runs of several texts, as lists of keys.

    `fixed_key` holds every different run of each text without an ambiguous word (one whose allowed words have several
    codes); no substitution touches them. Ambiguous words fewer than `longest` apart can stand in one run: they form a
    cell (`GramCells`), and its options are all ways to choose codes for its words, the text itself first. A cell of too
    many options is cut into pieces: the slots that end at some neighbouring words, with the words that stand in them.
    Pieces are cells here; a worst case in which each takes its own worst option lies above that of the whole cell. Each
    option fills the same slots, the places of runs that hold an ambiguous word. `run_key` lists what can stand in each
    slot, and `run_holders` how many slots of the text can hold that run; entry e says that option `entry_option[e]`
    puts the run `entry_run[e]` of this list into its slot. A run that is fixed in its text is not listed: there it
    changes nothing. `cell_place` is the word of a cell that has only one, else -1; `option_code` is then its code.
    Where a model reads several maps from words to codes, a cell is of one of them, `cell_map`, and the cells of
    different maps are taken for themselves.
    """

    fixed_text: Array
    fixed_key: Array
    cell_text: Array
    cell_place: Array
    cell_map: Array
    option_cell: Array
    option_code: Array
    run_key: Array
    run_holders: Array
    entry_option: Array
    entry_run: Array

    @staticmethod
    def of(
        codes: Tensor,
        counts: Tensor,
        own: Tensor,
        *,
        longest: int,
        ending: int = 0,
        most: int = MOST,
        room: float = math.inf,
    ) -> GramOptions:
        """From the distinct codes of every position [texts, words, width], of which the first `counts` [texts, words]
        count, and the codes of the text itself [texts, words], 0 at padding. `longest` and `ending` are the model's.
        Cells of more than `most` options are cut. More than `room` entries are refused with `TooManyRunsError`, before
        they fill the memory.
        """
        check_padding(own)
        real = own > 0
        counts = torch.where(real, counts, 1)
        steady = torch.where(counts > 1, 0, own)  # a run through an ambiguous word is not fixed
        fixed_text, fixed_key = (part.numpy() for part in distinct_runs(steady, longest, last_words(real, ending)))
        cells = _Cells.of(own.numpy(), codes.numpy(), counts.numpy(), longest=longest, most=most, room=room)
        slots = cells.slots(longest=longest, ending=ending)
        if float((cells.sizes[slots.cell]).sum()) > room:
            raise TooManyRunsError
        run_slot, run_key = cells.runs(slots)
        number, holders = _held(cells.text[slots.cell[run_slot]], run_key, fixed_text, fixed_key)
        option_cell = np.repeat(np.arange(len(cells.text)), cells.sizes)
        entry_option, entry_run = cells.entries(slots)
        entry_run = number[entry_run]
        listed = entry_run >= 0
        return GramOptions(
            fixed_text,
            fixed_key,
            cells.text,
            np.where(cells.alone, cells.begin, -1),
            np.zeros(len(cells.text), np.int64),
            option_cell,
            cells.codes_of_single_words(option_cell),
            run_key[number >= 0],
            holders,
            entry_option[listed],
            entry_run[listed],
        )

    @staticmethod
    def joined(maps: Sequence[GramOptions]) -> GramOptions:
        """The runs of the same texts by several maps, each of which has keys of its own."""
        if len(maps) == 1:
            return maps[0]
        found: dict[str, list[Array]] = {each.name: [] for each in fields(GramOptions)}
        cells = options = runs = 0
        for number, own in enumerate(maps):
            first = {"cell_map": number, "option_cell": cells, "entry_option": options, "entry_run": runs}
            above = {"fixed_key": number << MAP_SHIFT, "run_key": number << MAP_SHIFT}
            for name, parts in found.items():
                parts.append((getattr(own, name) | above.get(name, 0)) + first.get(name, 0))
            cells, options, runs = cells + len(own.cell_text), options + len(own.option_cell), runs + len(own.run_key)
        return GramOptions(**{name: np.concatenate(parts) for name, parts in found.items()})


def check_padding(own: Tensor) -> None:
    """Refuse padding among words, [texts, words], where no bound would hold."""
    real = own > 0
    if bool((real[:, 1:] & ~real[:, :-1]).any()):
        raise ModelError(expected="padding behind the words of a text", got="padding among them", where="a BagOfNgrams")


@dataclass(frozen=True, slots=True, eq=False)
class _Slots:
    """Places of runs: `length` words from the place `start` of their text on, which an option of `cell` fills."""

    cell: Array
    start: Array
    length: Array
    mark: Array
    """`AT_THE_END` for the second key of a run that stands among the last words, else 0."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cells or pieces of them, in the order of texts and places.

    A cell has the slots that hold an ambiguous word and end at a word from `begin` to before `end`; the words from
    `first` on stand in them. Its options are numbered like the digits of a number, the last word's changing fastest:
    `ways[c, p]` is how many there are for the words from first + p on, those of option o are `o // ways[c, p + 1]`
    modulo their number, and number 0 of each is the text's own.
    """

    text: Array
    first: Array
    begin: Array
    end: Array
    alone: Array
    """Whether it is a whole cell of one ambiguous word, `begin`."""
    ways: Array
    ordered: Array
    """The codes of every position of the texts, its own first, [texts, words, width]."""
    counts: Array
    lengths: Array

    @staticmethod
    def of(own: Array, codes: Array, counts: Array, *, longest: int, most: int, room: float) -> _Cells:
        """From the codes of positions, and how many of them count."""
        lengths = (own > 0).sum(axis=1)
        cells = GramCells.of(counts, longest)
        spans = np.stack([cells.text, cells.first, np.minimum(cells.last + longest, lengths[cells.text])], axis=1)
        large = cells.options > most
        alone = ~large & (cells.words == 1)
        if large.any():
            parts = [
                [(text, *piece) for piece in _pieces(counts[text], begin, end, longest, most)]
                if cut
                else [(text, begin, end)]
                for (text, begin, end), cut in zip(spans.tolist(), large.tolist(), strict=True)
            ]
            alone = np.repeat(alone, [len(part) for part in parts])
            spans = np.array([piece for part in parts for piece in part])
        text, begin, end = spans.T
        first = np.maximum(begin - longest + 1, 0)
        place = first[:, None] + np.arange(int((end - first).max(initial=0)))
        within = counts[text[:, None], np.minimum(place, counts.shape[1] - 1)]
        ways = np.where(place < end[:, None], within, 1)
        if len(ways) and ways.prod(axis=1, dtype=float).max() > room:
            raise TooManyRunsError
        ways = np.pad(ways, ((0, 0), (0, 1)), constant_values=1)[:, ::-1].cumprod(axis=1)[:, ::-1]
        return _Cells(text, first, begin, end, alone, ways, _own_first(own, codes, counts), counts, lengths)

    @property
    def sizes(self) -> Array:
        """How many options each has."""
        sizes: Array = self.ways[:, 0]
        return sizes

    def slots(self, *, longest: int, ending: int) -> _Slots:
        """The slots of all cells, in the order of cells, lengths and places."""
        touched = np.pad((self.counts > 1).cumsum(axis=1), ((0, 0), (1, 0)))
        found: list[Array] = []
        for size in range(1, longest + 1):
            earliest = np.maximum(self.begin - size + 1, self.first)
            sizes = np.maximum(self.end - size + 1 - earliest, 0)
            cell, start = np.repeat(np.arange(len(sizes)), sizes), _ranges(earliest, sizes)
            text = self.text[cell]
            holds = touched[text, start + size] > touched[text, start]
            found.append(np.stack([cell, np.full(len(cell), size), start])[:, holds])
        cell, length, start = np.concatenate(found, axis=1)
        late = start >= self.lengths[self.text[cell]] - ending
        cell, length, start, mark = (
            np.concatenate([each, each[late]]) for each in (cell, length, start, np.zeros(len(cell), np.int64))
        )
        mark[len(late) :] = AT_THE_END
        order = np.lexsort((mark, start, length, cell))
        return _Slots(cell[order], start[order], length[order], mark[order])

    def _ways_of(self, slots: _Slots) -> tuple[Array, Array]:
        """How many ways there are to fill each slot, and for the words behind it."""
        place = slots.start - self.first[slots.cell]
        behind = self.ways[slots.cell, place + slots.length]
        return self.ways[slots.cell, place] // behind, behind

    def runs(self, slots: _Slots) -> tuple[Array, Array]:
        """Every run that can stand in each slot: the slot, and its key."""
        sizes, _ = self._ways_of(slots)
        slot, number = np.repeat(np.arange(len(sizes)), sizes), _ranges(np.zeros_like(sizes), sizes)
        text, length = self.text[slots.cell], slots.length
        key = slots.mark[slot]
        for back in range(int(length.max(initial=0))):  # from the last word of a run to its first
            live = np.flatnonzero(length[slot] > back)
            own = slot[live]
            place = (slots.start + length - 1 - back)[own]
            counts = self.counts[text[own], place]
            digit = number[live] % counts
            number[live] //= counts
            key[live] |= self.ordered[text[own], place, digit] << BITS * back
        return slot, key

    def entries(self, slots: _Slots) -> tuple[Array, Array]:
        """For every slot and every option of its cell: the option, and the place of its run among `runs`."""
        ways, behind = self._ways_of(slots)
        sizes = self.sizes[slots.cell]
        number = _ranges(np.zeros_like(sizes), sizes)
        run = number // np.repeat(behind, sizes) % np.repeat(ways, sizes) + np.repeat(np.cumsum(ways) - ways, sizes)
        return number + np.repeat((np.cumsum(self.sizes) - self.sizes)[slots.cell], sizes), run

    def codes_of_single_words(self, option_cell: Array) -> Array:
        """The code that each option chooses, where its cell has one word; else 0."""
        chosen = self.alone[option_cell]
        own = option_cell[chosen]
        number = np.arange(len(option_cell)) - (np.cumsum(self.sizes) - self.sizes)[option_cell]
        found = np.zeros(len(option_cell), np.int64)
        found[chosen] = self.ordered[self.text[own], self.begin[own], number[chosen]]
        return found


def _own_first(own: Array, codes: Array, counts: Array) -> Array:
    """The codes of every position with its own before the others."""
    found = np.zeros((*own.shape, codes.shape[2]), np.int64)
    found[..., 0] = own
    text, place = np.nonzero(counts > 1)
    listed, some = codes[text, place], own[text, place][:, None]
    rank = (listed != some) + (np.arange(codes.shape[2]) >= counts[text, place][:, None])
    found[text, place] = np.take_along_axis(listed, rank.argsort(axis=1, kind="stable"), axis=1)
    return found


def _pieces(counts: Array, begin: int, stop: int, longest: int, most: int) -> Iterator[tuple[int, int]]:
    """The words from `begin` to `stop`, so many at a time that the slots ending there have few options."""
    while begin < stop:
        end, size = begin + 1, counts[max(begin - longest + 1, 0) : begin + 1].prod(dtype=float)
        while end < stop and size * counts[end] <= most:
            size *= counts[end]
            end += 1
        yield begin, end
        begin = end


def _ranges(starts: Array, sizes: Array) -> Array:
    """From each start on so many whole numbers, end to end."""
    ends = np.cumsum(sizes)
    found: Array = np.arange(int(sizes.sum())) + np.repeat(starts - (ends - sizes), sizes)
    return found


def _held(texts: Array, keys: Array, fixed_texts: Array, fixed_keys: Array) -> tuple[Array, Array]:
    """A number for each (text, key), -1 where the key is fixed in the text, and for each number how often its pair is
    listed. Fixed ones are given in the order of texts and keys.
    """
    listed, numbers = np.unique(keys, return_inverse=True)
    pairs = texts * len(listed) + numbers
    free = np.ones(len(pairs), bool)
    if len(listed):
        place = np.searchsorted(listed, fixed_keys).clip(max=len(listed) - 1)
        known = listed[place] == fixed_keys
        free = ~np.isin(pairs, fixed_texts[known] * len(listed) + place[known])
    _, runs, counts = np.unique(pairs[free], return_inverse=True, return_counts=True)
    number = np.where(free, np.cumsum(free) - 1, -1)
    return number, counts[runs]
