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
    option fills the same slots, the places of runs that hold an ambiguous word. Entry e says that option
    `entry_option[e]` puts the run `entry_key[e]` into one slot, and that `entry_holders[e]` slots of the text can hold
    this run. A run that is fixed in its text is not an entry: there it changes nothing. `cell_place` is the word of a
    cell that has only one, else -1; `option_code` is then its code. Where a model reads several maps from words to
    codes, a cell is of one of them, `cell_map`, and the cells of different maps are taken for themselves.
    """

    fixed_text: Array
    fixed_key: Array
    cell_text: Array
    cell_place: Array
    cell_map: Array
    option_cell: Array
    option_code: Array
    entry_option: Array
    entry_holders: Array
    entry_key: Array

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
        fixed_text, fixed_key = distinct_runs(steady, longest, last_words(real, ending))
        build = _Cells(own.numpy(), codes.numpy(), counts.numpy(), longest, ending, most, room)
        build.add_all()
        return build.done(fixed_text.numpy(), fixed_key.numpy())

    @staticmethod
    def joined(maps: Sequence[GramOptions]) -> GramOptions:
        """The runs of the same texts by several maps, each of which has keys of its own."""
        if len(maps) == 1:
            return maps[0]
        found: dict[str, list[Array]] = {each.name: [] for each in fields(GramOptions)}
        cells = options = 0
        for number, own in enumerate(maps):
            arrays = {name: getattr(own, name) for name in found}
            arrays["fixed_key"], arrays["entry_key"] = (
                arrays[name] | number << MAP_SHIFT for name in ("fixed_key", "entry_key")
            )
            arrays["cell_map"] = arrays["cell_map"] + number
            arrays["option_cell"], arrays["entry_option"] = own.option_cell + cells, own.entry_option + options
            cells, options = cells + len(own.cell_text), options + len(own.option_cell)
            for name, part in arrays.items():
                found[name].append(part)
        return GramOptions(**{name: np.concatenate(parts) for name, parts in found.items()})


def check_padding(own: Tensor) -> None:
    """Refuse padding among words, [texts, words], where no bound would hold."""
    real = own > 0
    if bool((real[:, 1:] & ~real[:, :-1]).any()):
        raise ModelError(expected="padding behind the words of a text", got="padding among them", where="a BagOfNgrams")


class _Cells:
    """Cells as they are found, one after the other."""

    def __init__(
        self, own: Array, codes: Array, counts: Array, longest: int, ending: int, most: int, room: float
    ) -> None:
        self.own, self.codes, self.counts, self.longest, self.most = own, codes, counts, longest, most
        self.ending, self.room = ending, room
        self.lengths = (own > 0).sum(axis=1)
        self.cells: list[tuple[int, int]] = []
        self.options: list[tuple[int, Array]] = []
        self.entries: list[tuple[int, int, Array]] = []
        self.slots = self.total = 0

    def add_all(self) -> None:
        """All cells, in the order of texts and places."""
        cells = GramCells.of(self.counts, self.longest)
        lists = (cells.text, cells.first, cells.last, cells.options)
        for text, first, last, options in zip(*(each.tolist() for each in lists), strict=True):
            stop = min(last + self.longest, int(self.lengths[text]))
            if options <= self.most:
                self._add(text, first, stop, whole=True)
                continue
            for begin, end in self._pieces(text, first, stop):
                self._add(text, begin, end, whole=False)

    def _pieces(self, text: int, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """The words from `first` to `stop`, so many at a time that the slots ending there have few options."""
        begin = first
        while begin < stop:
            end, size = begin + 1, self.counts[text, max(begin - self.longest + 1, 0) : begin + 1].prod(dtype=float)
            while end < stop and size * self.counts[text, end] <= self.most:
                size *= self.counts[text, end]
                end += 1
            yield begin, end
            begin = end

    def _add(self, text: int, begin: int, end: int, *, whole: bool) -> None:
        """The slots that hold an ambiguous word and end at the words from `begin` to `end`."""
        first = max(begin - self.longest + 1, 0)
        counts = self.counts[text, first:end]
        places = np.flatnonzero(counts > 1)
        if counts.prod(dtype=float) > self.room:
            raise TooManyRunsError
        filled, grid = self._filled(text, first, end, places)
        size = len(filled)
        touched = np.append(0, counts > 1).cumsum()
        late = int(self.lengths[text]) - self.ending - first  # from this place of the cell on, runs are at the end
        keys = filled
        for length in range(1, min(self.longest, end - first) + 1):
            count = end - first - length + 1
            if length > 1:
                keys = (keys[:, :count] << BITS) | filled[:, length - 1 :]
            earliest = max(begin - first - length + 1, 0)  # a slot that begins before ends before `begin`
            holds = np.flatnonzero(touched[length : length + count] > touched[:count])
            for slot in holds[holds >= earliest].tolist():
                for mark in (0, AT_THE_END)[: 1 + (slot >= late)]:
                    self.entries.append((self.total, self.slots, keys[:, slot] | mark))
                    self.slots += 1
                    self.room -= size
                if self.room < 0:
                    raise TooManyRunsError
        alone = whole and len(places) == 1
        self.options.append((len(self.cells), grid[:, 0] if alone else np.zeros(size, np.int64)))
        self.cells.append((text, first + int(places[0]) if alone else -1))
        self.total += size

    def _filled(self, text: int, first: int, end: int, places: Array) -> tuple[Array, Array]:
        """The words from `first` to `end` in every option [options, words], and the codes at `places` alone."""
        own = self.own[text, first:end]
        choices = [self.codes[text, first + place, : self.counts[text, first + place]] for place in places]
        ordered = [np.append(own[at], each[each != own[at]]) for at, each in zip(places, choices, strict=True)]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*ordered, indexing="ij")], axis=1)
        filled = np.repeat(own[None], len(grid), axis=0)
        filled[:, places] = grid
        return filled, grid

    def done(self, fixed_text: Array, fixed_key: Array) -> GramOptions:
        """Everything as flat lists, without entries that are fixed in their text."""
        cells = np.array(self.cells, np.int64).reshape(-1, 2)
        option_cell = np.repeat(
            np.array([cell for cell, _ in self.options], np.int64), [len(codes) for _, codes in self.options]
        )
        sizes = [len(keys) for _, _, keys in self.entries]
        entry_option = _flat(
            [np.arange(start, start + size) for (start, _, _), size in zip(self.entries, sizes, strict=True)]
        )
        entry_slot = np.repeat(np.array([slot for _, slot, _ in self.entries], np.int64), sizes)
        entry_key = _flat([keys for _, _, keys in self.entries])
        entry_text = cells[option_cell[entry_option], 0] if len(entry_option) else entry_option
        free = ~_among(fixed_text, fixed_key, entry_text, entry_key)
        entry_option, entry_slot, entry_key = entry_option[free], entry_slot[free], entry_key[free]
        return GramOptions(
            fixed_text,
            fixed_key,
            cells[:, 0],
            cells[:, 1],
            np.zeros(len(cells), np.int64),
            option_cell,
            _flat([codes for _, codes in self.options]),
            entry_option,
            _holders(entry_text[free], entry_slot, entry_key),
            entry_key,
        )


def _flat(pieces: list[Array]) -> Array:
    return np.concatenate(pieces).astype(np.int64) if pieces else np.zeros(0, np.int64)


def _among(texts: Array, keys: Array, asked_texts: Array, asked_keys: Array) -> Array:
    """Whether each asked (text, key) is one of the given pairs."""
    if not len(asked_keys) or not len(keys):
        return np.zeros(len(asked_keys), bool)
    listed, numbers = np.unique(keys, return_inverse=True)
    pairs = np.unique(texts * len(listed) + numbers)
    place = np.searchsorted(listed, asked_keys).clip(max=len(listed) - 1)
    asked = asked_texts * len(listed) + place
    found = pairs[np.searchsorted(pairs, asked).clip(max=len(pairs) - 1)] == asked
    among: Array = found & (listed[place] == asked_keys)
    return among


def _holders(texts: Array, slots: Array, keys: Array) -> Array:
    """For each (text, slot, key) listed, perhaps repeatedly: how many different slots of the text have the key."""
    if not len(keys):
        return keys
    listed, numbers = np.unique(keys, return_inverse=True)
    _, runs = np.unique(texts * len(listed) + numbers, return_inverse=True)
    held = np.unique(slots * (int(runs.max()) + 1) + runs) % (int(runs.max()) + 1)
    counts: Array = np.bincount(held)[runs]
    return counts
