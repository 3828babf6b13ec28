"""The least margins of a bag of n-grams over the paths of a lattice: dynamic programming over the last codes.

A run of codes counts once, however often a path has it, so occurrences do not simply add up. What a run adds to the
margin, d, is divided among them so that their sum is never more than what the path has:

- a run that no path has twice: d, where it stands;
- a run of the text with d > 0: d, divided by how often the text has it, for each of the text's own
  whose words are kept, or have others of the same codes in their places;
- a run of the text with d < 0: d at once, and nothing where it stands;
- any other run: d each time if d < 0, else d divided by how often a path can have it, if that is known.

So the least sum is a lower bound, and exact where no run can stand twice. How often a path can have a run is at most
how often it can have any of its codes, which is a matter of edges that lie one behind another. Of a history only the
longest end counts that some listed run begins with. Each map from words to codes takes its own worst path.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sgbt.certify.edits.histories import RUNS, Floats, Ints, Symbols, least_values
from sgbt.certify.edits.margins import least_margins, rivals_of
from sgbt.certify.edits.occurrences import OFTEN, how_often
from sgbt.certify.edits.unrolled import UnrolledLayer, lengths_of, unrolled
from sgbt.models import BagOfNgrams
from sgbt.models.bag_of_ngrams.credits import most_of_unfinished
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, LARGEST, LONGEST, MAP_SHIFT
from sgbt.threats.lattice import Lattice

WHOLE = (1 << LONGEST * BITS) - 1


@least_margins.register
def _of_ngrams(model: BagOfNgrams, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    bias = model.bias.detach().double().cpu().numpy()
    weight = model.weight.detach().double().cpu()
    rivals = rivals_of(labels, len(bias))
    found: Floats = bias[labels][:, None] - bias[rivals]
    known = _listed(model)
    maps = list(model.maps.cpu().numpy())
    symbols = [Symbols(lattices[0].sets, codes.__getitem__) for codes in maps]
    for text, lattice in enumerate(lattices):
        steps = unrolled(lattice, max_length)
        for number, runs in enumerate(known):
            reader = RunReader.of(runs, weight, maps[number], lattice, steps, int(labels[text]), max_length)
            found[text] += reader.least(least_values(steps, symbols[number], reader))
    return found


@dataclass(frozen=True, eq=False)
class ListedRuns:
    """The runs that one map has weights of, and with what they begin."""

    number: int
    longest: int
    ending: int
    keys: Ints
    beginnings: tuple[Ints, ...]
    """Of the runs that are longer than 1, 2, ... codes the first 1, 2, ... codes, sorted."""

    @staticmethod
    def of(model: BagOfNgrams, number: int) -> ListedRuns:
        """Those of one map."""
        keys = model.keys.cpu().numpy()
        own = keys[keys >> MAP_SHIFT == number] & WHOLE
        length = sum((own >> BITS * place > 0).astype(np.int64) for place in range(LONGEST))
        longest = model.config.longest
        begun = []
        for size in range(1, longest):
            more = [own[length == other] >> BITS * (other - size) for other in range(size + 1, longest + 1)]
            begun.append(np.unique(np.concatenate(more)))
        return ListedRuns(number, longest, model.config.ending, keys, tuple(begun))


_KNOWN: weakref.WeakKeyDictionary[BagOfNgrams, tuple[torch.Tensor, list[ListedRuns]]] = weakref.WeakKeyDictionary()


def _listed(model: BagOfNgrams) -> list[ListedRuns]:
    """The runs of every map, found once for a model."""
    known = _KNOWN.get(model)
    if known is None or known[0] is not model.keys:
        known = model.keys, [ListedRuns.of(model, number) for number in range(len(model.maps))]
        _KNOWN[model] = known
    return known[1]


@dataclass(frozen=True, eq=False)
class RunReader:
    """One map of a bag of n-grams, as a reader of one lattice. Columns are rivals, times numbers of words where runs
    count more at the end."""

    runs: ListedRuns
    weight: torch.Tensor
    label: int
    rivals: Ints
    lengths: Ints
    """The numbers of words that columns are of; none where that makes no difference."""
    often: Ints
    """How often a path can have each code at most; `OFTEN` for any number."""
    own: Ints
    """Places of the text's runs in the list, sorted."""
    times: Ints
    """How often the text has each."""
    read: Ints
    """The codes of the text's own words, and -1 behind them."""
    late: int
    """The first of the text's words that stand at its end."""

    bits = BITS

    @property
    def span(self) -> int:
        """All codes of a run but the last."""
        return self.runs.longest - 1

    @property
    def counted(self) -> int:
        """A run of the text is its own where all its words were kept."""
        return self.runs.longest

    @property
    def columns(self) -> int:
        """Rivals, times numbers of words."""
        return len(self.rivals) * max(len(self.lengths), 1)

    @staticmethod
    def of(
        runs: ListedRuns,
        weight: torch.Tensor,
        codes: Ints,
        lattice: Lattice,
        steps: Sequence[UnrolledLayer],
        label: int,
        max_length: int,
    ) -> RunReader:
        """The reader of one text, whose own runs are counted."""
        read = codes[list(lattice.ids[:max_length])]
        late = max(len(read) - runs.ending, 0) if runs.ending else len(read)
        own = np.concatenate(
            [_places(runs, _runs_of(read, runs.longest, 0), 0)]
            + ([_places(runs, _runs_of(read, runs.longest, late), AT_THE_END)] if runs.ending else [])
        )
        places, times = np.unique(own[own >= 0], return_counts=True)
        return RunReader(
            runs,
            weight,
            label,
            rivals_of(np.array([label]), weight.shape[1])[0],
            lengths_of(steps) if runs.ending else np.empty(0, dtype=np.int64),
            how_often(lattice, codes),
            places,
            times,
            np.append(read, -1),
            late,
        )

    def least(self, found: dict[int, Floats]) -> Floats:
        """What the worst path adds to the margins, [rivals]."""
        if len(self.lengths):
            order = {int(words): place for place, words in enumerate(self.lengths)}
            rows = [value.reshape(-1, len(self.lengths))[:, order[words]] for words, value in found.items()]
        else:
            rows = list(found.values())
        never_gained = np.where((self._most(self.own) > 1)[:, None], self._against(self.own).clip(max=0), 0.0)
        total: Floats = np.min(rows, axis=0) + never_gained.sum(axis=0)
        return total

    def shortened(self, history: Ints) -> Ints:
        """The longest end that some longer run begins with."""
        kept = np.zeros_like(history)
        for size, begun in enumerate(self.runs.beginnings, start=1):
            end = history & (1 << BITS * size) - 1
            kept = np.where((end >> BITS * (size - 1) > 0) & _among(end, begun), end, kept)
        return kept

    def joined(self, value: Floats, history: Ints, symbol: Ints, kept: Ints, words: int) -> Floats:
        """With all runs that end in the new code."""
        total = value
        runs = history << BITS | symbol
        for size in range(1, min(self.runs.longest, words + 1) + 1):
            key = runs & (1 << BITS * size) - 1
            real = np.flatnonzero(key >> BITS * (size - 1) > 0)
            gain = self._gain(key[real], 0, kept[real] % RUNS >= size)
            if len(self.lengths):
                gain = np.repeat(gain[:, :, None], len(self.lengths), axis=2)
                late = self.lengths - (words + 1 - size) <= self.runs.ending
                if late.any():
                    first = kept[real] // RUNS - size
                    more = self._gain(key[real], AT_THE_END, (kept[real] % RUNS >= size) & (first >= self.late))
                    gain[:, :, late] += more[:, :, None]
            if gain.any():
                total = total.copy() if total is value else total
                total[real] += gain.reshape(len(real), -1)
        return total

    def ended(self, value: Floats, history: Ints, words: int) -> Floats:
        """Nothing more."""
        return value

    def dropped(self, value: Floats, history: Ints) -> Floats:
        """Less the most that runs can cost which begin in the history."""
        distinct, number = np.unique(history, return_inverse=True)
        lost = most_of_unfinished(
            torch.from_numpy(self.runs.keys),
            self.weight,
            torch.from_numpy(distinct),
            torch.full((len(distinct),), self.label),
            longest=self.runs.longest,
            number=self.runs.number << MAP_SHIFT,
            ending=self.runs.ending > 0,
        ).numpy()[number][:, self.rivals]
        fewer: Floats = value - np.repeat(lost, max(len(self.lengths), 1), axis=1)
        return fewer

    def _gain(self, key: Ints, mark: int, own: np.ndarray) -> Floats:
        """What occurrences of runs count for, [runs, rivals]; `own` are those that the text itself has there."""
        gain = np.zeros((len(key), len(self.rivals)))
        place = _places(self.runs, key, mark)
        listed = np.flatnonzero(place >= 0)
        place, own = place[listed], own[listed]
        d = self._against(place)
        at = np.searchsorted(self.own, place).clip(max=max(len(self.own) - 1, 0))
        in_text = self.own[at] == place if len(self.own) else np.zeros(len(place), dtype=bool)
        times = self.times[at] if len(self.own) else np.ones(len(place))
        shared = np.where(own & in_text, 1 / times, 0.0)
        most = self._most(place)
        other = np.where(in_text, 0.0, np.where(most < OFTEN, 1 / most, 0.0))
        share = np.where(most == 1, 1.0, np.maximum(shared, other))[:, None]
        whole = (most == 1) | ~in_text
        gain[listed] = np.where(d >= 0, d * share, np.where(whole[:, None], d, 0.0))
        return gain

    def _against(self, place: Ints) -> Floats:
        rows = self.weight[torch.from_numpy(place)].numpy()
        found: Floats = rows[:, self.label][:, None] - rows[:, self.rivals]
        return found

    def _most(self, place: Ints) -> Ints:
        """How often a path can have a listed run at most."""
        keys = self.runs.keys[place]
        most = np.full(len(keys), OFTEN)
        for offset in range(LONGEST):
            code = keys >> BITS * offset & LARGEST - 1
            most = np.where(code > 0, np.minimum(most, self.often[code]), most)
        return most


def _places(runs: ListedRuns, keys: Ints, mark: int) -> Ints:
    """The place of each run in the list, -1 for others."""
    asked = keys | mark | runs.number << MAP_SHIFT
    if not len(runs.keys):
        return np.full(len(asked), -1, dtype=np.int64)
    place = np.searchsorted(runs.keys, asked).clip(max=len(runs.keys) - 1)
    found: Ints = np.where(runs.keys[place] == asked, place, -1)
    return found


def _among(asked: Ints, listed: Ints) -> np.ndarray:
    if not len(listed):
        return np.zeros(len(asked), dtype=bool)
    found: np.ndarray = listed[np.searchsorted(listed, asked).clip(max=len(listed) - 1)] == asked
    return found


def _runs_of(codes: Ints, longest: int, first: int) -> Ints:
    """The keys of all runs of a text that begin at `first` or behind it, each time they stand there."""
    found = []
    for size in range(1, min(longest, len(codes)) + 1):
        key = np.zeros(len(codes) - size + 1, dtype=np.int64)
        for offset in range(size):
            key = key << BITS | codes[offset : len(codes) - size + 1 + offset]
        found.append(key[first:])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
