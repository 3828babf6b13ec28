"""The worst case of the cells of a BagOfNgrams by dynamic programming along the text.

What a word adds, the weights of all runs that end with it, depends on its code and on those of the `longest` - 1 words
before it. So the codes of the last `longest` - 1 words are the state: of all beginnings of a cell that end in the same
state, only the one best for the rival matters. That is the maximum over all options of the cell, however many these
are, in a number of steps that grows with the length of the text. With one more dimension, how many words were replaced
so far, it is the maximum within a budget.

How much a run counts in each of the slots that can hold it is as in `worst_case`. Where more than `MOST_WAYS` ways
lead on from one word, the states there are forgotten: every run that has begun and not ended is taken at the most that
it can add (`credits`), and the cell goes on from one state. That is sound, and keeps memory bounded whatever the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_ngrams.cells import GramCells
from sgbt.models.bag_of_ngrams.credits import Holders, credited, most_of_unfinished
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS
from sgbt.models.bag_of_words.features import places_of

MOST_WAYS = 1 << 14
"""Ways that lead on from one word of a cell: states times codes."""
NUMBERS = 1 << 22
"""Numbers in the largest table of a step; cells are worked on together as far as they fit into it."""


@dataclass(frozen=True, slots=True, eq=False)
class GramText:
    """Texts as one map reads them, and the weights of that map's runs.

    `codes` [texts, words, width], of which the first `counts` [texts, words] count, are the codes that every word can
    have; `own` [texts, words] are those of the text itself, 0 at padding. `number` is the map's, in the place of its
    bits in a key; `fixed` are the sorted pairs of a text and a run (`pairs`) that the text has whatever is replaced.
    """

    codes: Tensor
    counts: Tensor
    own: Tensor
    labels: Tensor
    keys: Tensor
    weight: Tensor
    fixed: Tensor
    longest: int
    ending: int
    number: int

    def pairs(self, text: Tensor, place: Tensor) -> Tensor:
        """One whole number for a text and the place of a run in the sorted list of keys."""
        return text * len(self.keys) + place


@dataclass(frozen=True, slots=True, eq=False)
class _Forgotten:
    """States of chains that had too many: `history` of each, 0 where it is kept, and which state each becomes."""

    chain: Tensor
    history: Tensor
    becomes: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One word further in every chain.

    `going` are the states after the step before whose chains go on; where some are forgotten they become fewer. The
    states that are then left have the chains `chain`. Way w leads from state `source[w]` of these to state `target[w]`
    of the next `states`, ends the runs `places[w]` (-1: none that counts), and replaces a word if `replaced[w]`.
    """

    going: Tensor
    forgotten: _Forgotten | None
    chain: Tensor
    source: Tensor
    target: Tensor
    states: int
    replaced: Tensor
    places: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Chains:
    """Some cells of one map, the longest first: text and first word of each, and how many words runs of it end at."""

    given: GramText
    text: Tensor
    first: Tensor
    steps: Tensor

    def walk(self) -> Iterator[_Step]:
        """All steps; the last states of a chain are those after its last step."""
        chain, history = torch.arange(len(self.text)), self._before()
        for step in range(int(self.steps[0])):
            going = (self.steps[chain] > step).nonzero().squeeze(1)
            chain, history = chain[going], history[going]
            ways = self._counts(chain, step)
            crowded = torch.bincount(chain, weights=ways.double(), minlength=len(self.text))[chain] > MOST_WAYS
            forgotten, left = None, chain
            if bool(crowded.any()):
                left, kept, becomes = _distinct(chain, history.masked_fill(crowded, 0))
                forgotten = _Forgotten(chain, history.masked_fill(~crowded, 0), becomes)
                chain, history = left, kept
                ways = self._counts(chain, step)
            source = torch.repeat_interleave(ways)
            rank = torch.arange(len(source)) - (ways.cumsum(0) - ways)[source]
            text, word = self.text[chain[source]], self.first[chain[source]] + step
            code = self.given.codes[text, word, rank]
            run = history[source] << BITS | code
            places = self._places(text, word, run)
            replaced = code != self.given.own[text, word]
            chain, history, target = _distinct(chain[source], run & (1 << BITS * (self.given.longest - 1)) - 1)
            yield _Step(going, forgotten, left, source, target, len(chain), replaced, places)

    def _counts(self, chain: Tensor, step: int) -> Tensor:
        return self.given.counts[self.text[chain], self.first[chain] + step]

    def _before(self) -> Tensor:
        """The codes before each chain, none of them ambiguous."""
        history = torch.zeros_like(self.text)
        for back in range(self.given.longest - 1, 0, -1):
            word = self.first - back
            history = history << BITS | self.given.own[self.text, word.clamp(min=0)].masked_fill(word < 0, 0)
        return history

    def _places(self, text: Tensor, word: Tensor, run: Tensor) -> Tensor:
        """The runs that end here and hold an ambiguous word: places among the keys, [ways, slots]; -1 for none."""
        given, found = self.given, []
        ambiguous, lengths = given.counts > 1, (given.own > 0).sum(dim=1)
        touched = torch.zeros_like(text, dtype=torch.bool)
        for length in range(1, given.longest + 1):
            start = word - length + 1
            touched = touched | (ambiguous[text, start.clamp(min=0)] & (start >= 0))
            key = run & (1 << BITS * length) - 1
            real = touched & (key >> BITS * (length - 1) > 0)
            for mark in (0, AT_THE_END)[: 1 + bool(given.ending)]:
                late = start >= lengths[text] - given.ending
                place = places_of(given.keys, key | mark | given.number)
                found.append(place.masked_fill(~(real & late if mark else real), -1))
        places = torch.stack(found, dim=1)
        asked = given.pairs(text.unsqueeze(1), places)
        return places.masked_fill(_among(given.fixed, asked), -1)


def worst_of_cells(given: GramText, *, budget: int | None = None) -> Tensor:
    """What all cells of each text add at most to (logit k - logit of the label): [texts, 1 + budget, classes].

    Number n of the second dimension is the most with at most n words replaced; without a budget there is one number.
    """
    cells = GramCells.of(given.counts.numpy(), given.longest)
    size = 1 + (0 if budget is None else min(budget, int(np.max(cells.words, initial=0))))
    groups = _grouped(given, cells, size)
    holders = Holders()
    for _, chains in groups:
        for step in chains.walk():
            way, slot = (step.places >= 0).nonzero(as_tuple=True)
            ended = given.pairs(step.chain[step.source[way]], step.places[way, slot]).unique()  # one slot each
            chain = ended // max(len(given.keys), 1)
            holders.add(ended + given.pairs(chains.text[chain] - chain, torch.zeros_like(chain)))
    holders.close()
    worst = given.weight.new_zeros(len(cells.text), size, given.weight.shape[1])
    for which, chains in groups:
        worst[which] = _solved(chains, holders, size, limited=budget is not None)
    return _added(worst, cells, len(given.own), 1 + (budget or 0))


def _grouped(given: GramText, cells: GramCells, size: int) -> list[tuple[Tensor, _Chains]]:
    """The numbers of some cells and their chains, so many at a time that no step needs too much room."""
    lengths = (given.own > 0).sum(dim=1).numpy()
    stop = np.minimum(cells.last + given.longest, lengths[cells.text])
    room = 2 * given.longest * (1 + bool(given.ending)) + size * given.weight.shape[1]
    peaks = np.minimum(_windows(given.counts.numpy(), given.longest, cells), MOST_WAYS) * room
    number = np.floor(np.cumsum(peaks) / NUMBERS)
    groups = []
    for part in np.split(np.arange(len(peaks)), np.flatnonzero(np.diff(number)) + 1) if len(peaks) else []:
        part = part[np.argsort(cells.first[part] - stop[part], kind="stable")]
        lists = (cells.text[part], cells.first[part], (stop - cells.first)[part])
        groups.append((torch.from_numpy(part), _Chains(given, *(torch.from_numpy(each) for each in lists))))
    return groups


def _windows(counts: np.ndarray, longest: int, cells: GramCells) -> np.ndarray:
    """The most ways that lead on from any word of each cell: the greatest product of `longest` neighbouring counts."""
    ways = np.pad(counts.astype(np.float64), ((0, 0), (longest - 1, 0)), constant_values=1)
    ways = np.lib.stride_tricks.sliding_window_view(ways, longest, axis=1).prod(axis=2)
    return np.array([ways[t, a : b + 1].max() for t, a, b in zip(cells.text, cells.first, cells.last, strict=True)])


def _solved(chains: _Chains, holders: Holders, size: int, *, limited: bool) -> Tensor:
    """The most that each chain adds, [chains, size, classes]."""
    given = chains.given
    classes = given.weight.shape[1]
    found = given.weight.new_full((len(chains.text), size, classes), -torch.inf)
    best = given.weight.new_zeros(len(chains.text), size, classes)
    for number, step in enumerate(chains.walk()):
        best = best[step.going]
        if step.forgotten is not None:
            best = best + _unfinished(chains, step.forgotten).unsqueeze(1)
            best = _greatest(best, step.forgotten.becomes, len(step.chain))
        owner = step.chain[step.source]
        moved = best[step.source]
        if limited:
            spent = torch.cat([torch.full_like(moved[:, :1], -torch.inf), moved[:, :-1]], dim=1)
            moved = torch.where(step.replaced.view(-1, 1, 1), spent, moved)
        moved = moved + _gains(chains, holders, owner, step.places).unsqueeze(1)
        best = _greatest(moved, step.target, step.states)
        owner = torch.zeros(step.states, dtype=torch.int64).scatter(0, step.target, owner)
        done = chains.steps[owner] == number + 1
        found.scatter_reduce_(0, owner[done].view(-1, 1, 1).expand(-1, size, classes), best[done], "amax")
    return found


def _gains(chains: _Chains, holders: Holders, chain: Tensor, places: Tensor) -> Tensor:
    """What the runs that end along each way add, [ways, classes]."""
    given = chains.given
    way, slot = (places >= 0).nonzero(as_tuple=True)
    place, text = places[way, slot], chains.text[chain[way]]
    leads = given.weight[place] - given.weight[place, given.labels[text]].unsqueeze(1)
    shared = credited(leads, holders.of(given.pairs(text, place)).unsqueeze(1))
    return given.weight.new_zeros(len(places), given.weight.shape[1]).index_add(0, way, shared)


def _unfinished(chains: _Chains, forgotten: _Forgotten) -> Tensor:
    given = chains.given
    return most_of_unfinished(
        given.keys,
        given.weight,
        forgotten.history,
        given.labels[chains.text[forgotten.chain]],
        longest=given.longest,
        number=given.number,
        ending=bool(given.ending),
    )


def _added(worst: Tensor, cells: GramCells, texts: int, size: int) -> Tensor:
    """The cells of each text together: the most that `size` - 1 replaced words, shared among them, can add."""
    total = worst.new_zeros(texts, size, worst.shape[2])
    text = torch.from_numpy(cells.text)
    rank = torch.arange(len(text)) - torch.searchsorted(text, text)
    for turn in range(int(rank.max()) + 1 if len(rank) else 0):
        which = (rank == turn).nonzero().squeeze(1)
        before = total[text[which]]
        after = before + worst[which, :1]
        for used in range(1, min(worst.shape[1], size)):
            after[:, used:] = torch.maximum(after[:, used:], before[:, : size - used] + worst[which, used : used + 1])
        total[text[which]] = after
    return total


def _distinct(chain: Tensor, history: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every different state, and which of them each is."""
    order = torch.argsort(history, stable=True)
    order = order[torch.argsort(chain[order], stable=True)]
    chain, history = chain[order], history[order]
    fresh = torch.ones_like(chain, dtype=torch.bool)
    fresh[1:] = (chain[1:] != chain[:-1]) | (history[1:] != history[:-1])
    number = torch.empty_like(order).scatter(0, order, fresh.cumsum(0) - 1)
    return chain[fresh], history[fresh], number


def _greatest(values: Tensor, target: Tensor, size: int) -> Tensor:
    """The greatest of the values of each target, [size, ...]."""
    table = values.new_full((size, *values.shape[1:]), -torch.inf)
    return table.scatter_reduce(0, target.view(-1, 1, 1).expand_as(values), values, "amax")


def _among(listed: Tensor, asked: Tensor) -> Tensor:
    """Whether each asked number is in the sorted list."""
    return places_of(listed, asked) >= 0
