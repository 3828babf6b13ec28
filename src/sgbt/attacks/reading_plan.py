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
    `words[s]`: twice the number of a word, plus one for a reader from the right. Before step s, the rows
    `born[edges[s] : edges[s + 1]]` take over the states of the rows `parents[...]`; the row behind all others stays
    empty, and is the parent of those that begin with nothing. `row_of` finds the two rows of every text, in the order
    in which they were given.
    """

    words: Array
    middle: int
    rows: int
    spans: list[tuple[int, int]]
    born: Array
    parents: Array
    edges: list[int]
    row_of: tuple[Array, Array]

    @staticmethod
    def of(texts: Sequence[Array]) -> ReadingPlan:
        """From lists of texts [texts, words] of whole numbers below 2^30, each with a length of its own."""
        longest = max(own.shape[1] for own in texts)
        left, right = (_OneWay.of(own, longest) for own in (texts, [each[:, ::-1] for each in texts]))
        middle, rows = left.room, left.room + right.room
        places = [middle - 1 - left.rank, middle + right.rank]
        words = np.zeros((rows, longest), np.int32)
        born, parents, row_of = [], [], []
        for way, own in zip((left, right), places, strict=True):
            for tree, offset in zip(way.trees, way.offsets, strict=False):
                words[own[offset : offset + len(tree.starts)], longest - tree.texts.shape[1] :] = tree.texts
            known = np.append(own, rows)  # the parent -1 is the row behind all others
            born.append(own)
            parents.append(known[way.parents])
            row_of.append(own[way.branch_of])
        words *= 2
        words[middle:] += 1
        starts = np.concatenate([left.starts, right.starts])
        order = np.argsort(starts, kind="stable")
        return ReadingPlan(
            np.ascontiguousarray(words.T).astype(np.int64),
            middle,
            rows,
            list(zip((middle - left.widths).tolist(), (middle + right.widths).tolist(), strict=True)),
            np.concatenate(born)[order],
            np.concatenate(parents)[order],
            np.searchsorted(starts[order], np.arange(longest + 1)).tolist(),
            (row_of[0], row_of[1]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _OneWay:
    """Several trees that are read in one way. The branches of tree t are numbered from `offsets[t]` on.

    Branch j starts at step `starts[j]`, as the `rank[j]`-th of all, with the states of branch `parents[j]` or with
    nothing (-1). `branch_of` finds the branch of every text. `widths[s]` branches are under way at step s, rounded up.
    """

    trees: list[PrefixTree]
    offsets: list[int]
    starts: Array
    parents: Array
    branch_of: Array
    rank: Array
    widths: Array

    @property
    def room(self) -> int:
        return int(self.widths[-1])

    @staticmethod
    def of(texts: Sequence[Array], longest: int) -> _OneWay:
        trees = [PrefixTree.of(own) for own in texts]
        offsets = [0, *accumulate(len(tree.starts) for tree in trees)]
        pairs = list(zip(trees, offsets, strict=False))
        starts = np.concatenate([tree.starts + longest - tree.texts.shape[1] for tree in trees])
        order = np.argsort(starts, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        alive = np.searchsorted(starts[order], np.arange(longest), side="right")
        return _OneWay(
            trees,
            offsets,
            starts,
            np.concatenate([np.where(tree.parents < 0, -1, tree.parents + offset) for tree, offset in pairs]),
            np.concatenate([tree.branch_of + offset for tree, offset in pairs]),
            rank,
            -(-alive // WIDTH) * WIDTH,
        )
