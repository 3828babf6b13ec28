"""ReadingPlan: in which rows of a matrix, and when, a two-way network reads many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.prefix_tree import PrefixTree

Array = NDArray[Any]
WIDTH = 16
"""Rows are added by as many at once; one that no text has yet is read for nothing. Products of matrices with fewer than
four rows are rounded in another way, so there are never fewer.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ReadingPlan:
    """Trees of beginnings and trees of endings, read side by side in one matrix, and aligned at their ends.

    Readers from the left have the rows below `middle`, and those from the right the rows from `middle` on; whoever
    starts earlier is nearer to it. So those who read at step s stand together, in the rows `spans[s]`. They read
    `words[s]`: twice the number of a word, plus one for a reader from the right. Before step s, the rows `born[s]` take
    over the states of the rows `parents[s]`; the row behind all others stays empty, and is the parent of those that
    begin with nothing. `row_of` finds the two rows of every text, in the order in which they were given.
    """

    words: Array
    middle: int
    rows: int
    spans: list[tuple[int, int]]
    born: list[Array]
    parents: list[Array]
    row_of: tuple[Array, Array]

    @staticmethod
    def of(texts: Sequence[Array]) -> ReadingPlan:
        """From lists of texts [texts, words], each with a length of its own."""
        longest = max(own.shape[1] for own in texts)
        left, right = (_OneWay.of(own, longest) for own in (texts, [each[:, ::-1] for each in texts]))
        middle, rows = left.room, left.room + right.room
        words = np.zeros((longest, rows), np.int64)
        words[:, middle - len(left.starts) : middle] = left.words[:, ::-1]
        words[:, middle : middle + len(right.starts)] = right.words
        words *= 2
        words[:, middle:] += 1
        places = [np.append(middle - 1 - np.arange(len(left.starts)), rows)]  # the parent -1 is the last row of all
        places.append(np.append(middle + np.arange(len(right.starts)), rows))
        starts = np.concatenate([left.starts, right.starts])
        order = np.argsort(starts, kind="stable")
        edges = np.searchsorted(starts[order], np.arange(1, longest))
        return ReadingPlan(
            words,
            middle,
            rows,
            list(zip((middle - left.widths).tolist(), (middle + right.widths).tolist(), strict=True)),
            np.split(np.concatenate([own[:-1] for own in places])[order], edges),
            np.split(np.concatenate([places[0][left.parents], places[1][right.parents]])[order], edges),
            (places[0][left.row_of], places[1][right.row_of]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _OneWay:
    """Several trees, one reader per branch, in the order of their starts: reader j starts with the states of reader
    `parents[j]`, or with nothing (-1). `widths[s]` readers are under way at step s, rounded up, at most `room`.
    """

    words: Array
    starts: Array
    parents: Array
    row_of: Array
    widths: Array

    @property
    def room(self) -> int:
        return int(self.widths[-1])

    @staticmethod
    def of(texts: Sequence[Array], longest: int) -> _OneWay:
        trees = [PrefixTree.of(own) for own in texts]
        offsets = [0, *accumulate(len(tree.starts) for tree in trees)]
        starts = np.concatenate([tree.starts + longest - tree.texts.shape[1] for tree in trees])
        order = np.argsort(starts, kind="stable")
        row = np.full(len(order) + 1, -1)  # the last entry stands for no parent
        row[order] = np.arange(len(order))
        words = np.zeros((longest, len(order)), np.int64)
        parents, row_of = [], []
        for tree, offset in zip(trees, offsets, strict=False):
            words[longest - tree.texts.shape[1] :, row[offset : offset + len(tree.starts)]] = tree.texts.T
            parents.append(row[np.where(tree.parents < 0, -1, tree.parents + offset)])
            row_of.append(row[tree.branch_of + offset])
        alive = np.searchsorted(starts[order], np.arange(longest), side="right")
        widths = -(-alive // WIDTH) * WIDTH
        return _OneWay(words, starts[order], np.concatenate(parents)[order], np.concatenate(row_of), widths)
