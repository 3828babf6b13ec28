"""Cells: the words of a text that must be looked at together, because runs of codes span several ambiguous ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class GramCells:
    """The cells of several texts, in the order of texts and places, one number of each list for each cell.

    A word is ambiguous where its allowed words have several codes. Ambiguous words fewer than `longest` apart can stand
    in one run: they are of one cell, from the word `first` to the word `last`, `words` of them ambiguous. `options` is
    in how many ways their codes can be chosen (a float: 300 words of two codes have more than any whole number holds),
    and `slots` how many runs hold one of them at most. No run holds ambiguous words of two cells.
    """

    text: Array
    first: Array
    last: Array
    words: Array
    options: Array
    slots: Array

    @staticmethod
    def of(counts: Array, longest: int) -> GramCells:
        """From how many codes every position has, [texts, words]."""
        text, place = np.nonzero(counts > 1)
        if not len(text):
            none, nothing = np.zeros(0, np.int64), np.zeros(0)
            return GramCells(none, none, none, none, nothing, nothing)
        starts = np.flatnonzero(np.diff(text, prepend=-1).astype(bool) | (np.diff(place, prepend=0) >= longest))
        stops = np.append(starts[1:], len(text))
        first, last = place[starts], place[stops - 1]
        with np.errstate(over="ignore"):
            options = np.multiply.reduceat(counts[text, place].astype(np.float64), starts)
        return GramCells(text[starts], first, last, stops - starts, options, (last - first + longest) * float(longest))

    def entries_of(self, texts: int) -> Array:
        """How many runs all options of each text's cells have together, at most."""
        return np.bincount(self.text, weights=self.options * self.slots, minlength=texts)

    def most_options_of(self, texts: int) -> Array:
        """The options of each text's largest cell; 1 for a text without cells."""
        most = np.ones(texts)
        np.maximum.at(most, self.text, self.options)
        return most


def least_entries(counts: Array, starts: Array, *, longest: int, ending: int) -> float:
    """How many runs the options of all cells have together when each word's slots are a piece of their own.

    `counts` is how many codes each word can have, texts one after the other; text t begins at `starts[t]`. The slots
    that end at a word have as many options as the last `longest` words have ways; larger pieces have more.
    """
    text = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    late = (np.asarray(starts)[1:] - ending)[text]  # runs that begin from here on are listed twice
    ways, touched, slots = np.ones(len(counts)), np.zeros(len(counts), bool), np.zeros(len(counts))
    for back in range(longest):
        within = np.zeros(len(counts), bool)
        within[back:] = text[back:] == text[: max(len(text) - back, 0)]
        before = np.where(within, np.roll(counts, back), 1)
        ways, touched = ways * before, touched | (before > 1)
        slots += (touched & within) * (1.0 + (np.arange(len(counts)) - back >= late))
    return float((ways * slots).sum())
