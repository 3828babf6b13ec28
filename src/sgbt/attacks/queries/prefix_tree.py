"""Texts that begin or end alike, read together for as long as they agree: trees of prefixes, and when to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTree:
    """The branches of a tree of beginnings, in the order in which they leave another one.

    Branch j reads `texts[j]` from word `starts[j]` on; until then it was one with branch `parents[j]`, which left its
    own parent earlier (-1: there was nothing to read before). `branch_of` finds the branch of each text as given.
    """

    texts: Array
    starts: Array
    parents: Array
    branch_of: Array

    @staticmethod
    def of(texts: Array) -> PrefixTree:
        """From texts [texts, words] of whole numbers below 2^31, at least one of each.

        Sorted, texts with a common beginning are neighbours. Where text j first differs from its forerunner, it leaves
        the branch that was being read there: the last one before it that had left its own parent earlier.
        """
        packed = np.ascontiguousarray(texts, np.int32)
        keys = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).ravel()
        order = np.argsort(keys, kind="stable")
        ordered = packed[order]
        differs = ordered[1:] != ordered[:-1]
        first = np.where(differs.any(axis=1), differs.argmax(axis=1), texts.shape[1])
        starts = np.concatenate([[0], first])
        forerunners = np.asarray(_last_smaller(starts.tolist()))
        distinct = np.flatnonzero(starts < texts.shape[1])
        rank = np.argsort(starts[distinct], kind="stable")
        branch = np.full(len(order) + 1, -1)  # the last entry stands for the branch -1
        branch[distinct[rank]] = np.arange(len(distinct))
        same = np.flatnonzero(starts == texts.shape[1])
        branch[same] = branch[forerunners[same]]
        chosen = distinct[rank]
        branch_of = np.empty(len(order), np.int64)
        branch_of[order] = branch[:-1]
        return PrefixTree(ordered[chosen], starts[chosen], branch[forerunners[chosen]], branch_of)


def _last_smaller(values: Sequence[int]) -> list[int]:
    """For each value, the place of the last smaller one before it, or -1."""
    found, open_places = [], [-1]
    for place, value in enumerate(values):
        while len(open_places) > 1 and values[open_places[-1]] >= value:
            open_places.pop()
        found.append(open_places[-1])
        open_places.append(place)
    return found


WIDTH = 16
"""Rows are added by as many at once; one that no text has yet is read for nothing. Products of matrices with fewer than
four rows are rounded in another way, so there are never fewer.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ReadSchedule:
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
    def of(texts: Sequence[Array]) -> ReadSchedule:
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
        return ReadSchedule(
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
