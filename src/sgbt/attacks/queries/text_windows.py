"""TextWindows: the windows of one text under a TextCNN, and of all its variants.

A swap of one word touches k windows of width k. What stands in a window determines its values, so each is computed once
(`WindowPool`); over the windows that are still as in the original text, the greatest values are looked up
(`RankedWindows`). Where most words of a text are tried in turn, running maxima from both ends serve instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sgbt.attacks.queries.caches import RankedWindows, WindowPool
from sgbt.attacks.queries.engine import IdQuery, Neighbourhood

if TYPE_CHECKING:
    from sgbt.attacks.queries.cnn import CNNEngine

Array = NDArray[Any]
FEW = 4
"""Up to this many positions of each text that are tried, windows come from the pool and not from running maxima."""
BLOCK = 32
"""WordSwaps that are worked on at once, few enough to stay in the processor's cache."""
UNRANKED = 24
"""For so many texts, the greatest windows are found by looking at all; ranking them would take longer."""
MOSTLY_LEFT = 0.5
"""Where such a share of the windows is left out, the greatest of the others is found by looking at them."""
RUN = 16
"""Windows whose running maxima are found in one block."""
KEYS = 2.0**62
"""How many contents of windows one number can distinguish."""


class TextWindows:
    """Answers about variants of one text: the rows of its words, and the number of choices that a position can have."""

    def __init__(self, network: CNNEngine, original: Array, *, choices: int) -> None:
        self._network, self._widest, self._choices = network, network.widest, choices
        self._counts = network.counts(len(original))
        self._length = max(len(original), self._widest)  # words, filled up so that there is a window
        self._join = np.add if network.mean else np.maximum
        self._windows = self._windows_of(self._filled(original[None])[0], np.arange(self._length))
        self._values = network.pooled_values(self._windows)
        self._looked_up = 0
        nothing = np.full(self._values.shape[1], network.nothing, self._values.dtype)
        self._pool, self._swapped = WindowPool(nothing), WindowPool(nothing)
        """Single windows; and the windows that hold a swapped word, pooled."""

    def answer(self, query: IdQuery) -> Neighbourhood:
        """Logits of texts and of one-word changes of them."""
        words, states = self._filled(self._network.words.rows(query.ids)), self._filled(query.states)
        new, swaps = self._network.words.rows(query.new), query.swaps
        pairs, group_of = np.unique(swaps.owners * self._length + swaps.positions, return_inverse=True)
        if not len(swaps):
            texts, changed = self._logits(self._pooled(states, words)), self._logits(self._values[:0])
        elif len(pairs) <= FEW * len(states):
            found = self._few(states, words, pairs, group_of, swaps.choices, new)
            texts, changed = (self._logits(pooled) for pooled in found)
        else:
            texts, changed = self._many(states, words, pairs, group_of, swaps.choices, new)
        return Neighbourhood(texts, changed)

    def _logits(self, pooled: Array) -> Array:
        return self._network.logits(pooled, self._counts)

    @cached_property
    def _ranked(self) -> RankedWindows:
        return RankedWindows.of(self._values, mean=self._network.mean)

    def _outside(self, left_out: Array) -> Array:
        """For each row of a mask [rows, windows], the original text's windows that are not left out, pooled.

        The greatest of some numbers is the same whichever way it is found; a ranking pays when it is used often, and
        when few of those at its top are left out.
        """
        self._looked_up += len(left_out)
        if self._network.mean:
            return self._ranked.outside(left_out)
        result = np.empty((len(left_out), self._values.shape[1]), self._values.dtype)
        ranked = (left_out.mean(axis=1) < MOSTLY_LEFT) & (self._looked_up > UNRANKED)
        if ranked.any():
            result[ranked] = self._ranked.outside(left_out[ranked])
        for row in np.flatnonzero(~ranked):
            self._values[~left_out[row]].max(axis=0, initial=self._network.nothing, out=result[row])
        return result

    def _filled(self, texts: Array) -> Array:
        """Texts with padding behind them: as many numbers as there are windows, and those that the last one reads."""
        missing = self._length - texts.shape[1] + self._widest
        return np.concatenate([texts, np.zeros((len(texts), missing), texts.dtype)], axis=1)

    def _windows_of(self, words: Array, starts: Array) -> Array:
        within = sliding_window_view(words, self._widest)[starts]
        return self._network.windows(within, starts, self._counts)

    def _touched(self, states: Array) -> Array:
        """Which windows [texts, windows] hold a word that is not the original one."""
        differs = states != 0
        touched: Array = differs[:, : self._length].copy()
        for offset in range(1, self._widest):
            touched |= differs[:, offset : offset + self._length]
        return touched

    def _pooled(self, states: Array, words: Array) -> Array:
        """Pooled values [texts, filters] of texts in full."""
        touched = self._touched(states)
        pooled = self._outside(touched)
        self._add_windows(pooled, touched, states, words)
        return pooled

    def _add_windows(self, pooled: Array, wanted: Array, states: Array, words: Array) -> None:
        """Pool the wanted windows [texts, windows] of texts into what is pooled already."""
        owners, starts = np.nonzero(wanted)
        within = starts[:, None] + np.arange(self._widest)
        rows = self._rows(states[owners[:, None], within], words[owners[:, None], within], starts)
        for owner, own in _runs(owners):  # reduceat would go down one column at a time
            self._join(pooled[owner], self._join.reduce(self._pool.values[rows[own]], axis=0), out=pooled[owner])

    def _rows(self, choices: Array, words: Array, starts: Array) -> Array:
        """The pool's rows of windows: the choices and the words in them, and where they stand."""

        def compute(which: Array) -> Array:
            windows = self._network.windows(words[which], starts[which], self._counts)
            return self._network.pooled_values(windows)

        return self._pool.rows(self._keys(self._pool, np.column_stack([starts, choices])), compute)

    def _keys(self, pool: WindowPool, contents: Array) -> Array:
        """A number for every row of contents: a place in the text, and the choices that distinguish windows there."""
        if self._length * float(self._choices) ** (contents.shape[1] - 1) < KEYS:
            keys: Array = contents[:, 0].astype(np.int64)
            for column in contents.T[1:]:
                keys = keys * self._choices + column + 1
            return keys
        pool.forget()  # they are numbered among themselves, and not remembered
        return np.unique(contents, axis=0, return_inverse=True)[1].reshape(-1)

    def _few(
        self, states: Array, words: Array, pairs: Array, group_of: Array, choices: Array, new: Array
    ) -> tuple[Array, Array]:
        """Pooled values of texts and of swaps, where few positions of each text are tried.

        `pairs` are the positions tried, text by text; `group_of` says which of them is that of each swap. All swaps at
        a position share the windows elsewhere, and so does the text itself.
        """
        owners, positions = np.divmod(pairs, self._length)
        touched = self._touched(states)[owners]
        around = np.zeros_like(touched)
        for offset in range(self._widest):
            around[np.arange(len(pairs)), (positions - offset).clip(min=0)] = True
        elsewhere = self._outside(touched | around)
        self._add_windows(elsewhere, touched & ~around, states[owners], words[owners])
        tried, first = np.unique(owners, return_index=True)
        groups = np.concatenate([first, group_of])
        own = tried, positions[first]
        choices, new = np.concatenate([states[own], choices]), np.concatenate([words[own], new])
        pooled = elsewhere[groups]
        rows = self._rows_around(states, words, owners[groups], positions[groups], choices, new)
        for start in range(0, len(groups), BLOCK):
            part = slice(start, start + BLOCK)
            self._join(pooled[part], self._join.reduce(self._pool.values[rows[part]], axis=1), out=pooled[part])
        texts = pooled[: len(tried)]
        if len(tried) < len(states):
            texts = self._pooled(states, words)
        return texts, pooled[len(tried) :]

    def _rows_around(
        self, states: Array, words: Array, owners: Array, positions: Array, choices: Array, new: Array
    ) -> Array:
        """The pool's rows [swaps, widest] of the windows that hold the word at a position, with a swap made there.

        A window that would start before the text is row 0, one that does not exist.
        """
        width = self._widest
        starts = positions[:, None] + np.arange(1 - width, 1)
        reach = positions[:, None] + np.arange(1 - width, width)
        contents = []
        for source, put in ((states, choices), (words, new)):
            around = source[owners[:, None], reach.clip(min=0)]
            around[:, width - 1] = put
            contents.append(sliding_window_view(around, width, axis=1).reshape(-1, width))
        real = starts.reshape(-1) >= 0
        rows = np.zeros(len(real), np.int64)
        rows[real] = self._rows(contents[0][real], contents[1][real], starts.reshape(-1)[real])
        return rows.reshape(starts.shape)

    def _many(
        self, states: Array, words: Array, pairs: Array, group_of: Array, choices: Array, new: Array
    ) -> tuple[Array, Array]:
        """Logits of texts and of swaps, where many positions of each text are tried; `pairs` as in `_few`."""
        owners, positions = np.divmod(pairs, self._length)
        windows = [self._all_windows(own, touched) for own, touched in zip(words, self._touched(states), strict=True)]

        def compute(which: Array) -> Array:
            order = np.argsort(owners[group_of[which]], kind="stable")
            found = []
            for owner, own in _runs(owners[group_of[which[order]]]):
                swaps = which[order[own]]
                at, places = np.unique(positions[group_of[swaps]], return_inverse=True)
                found.append(self._with_words(words[owner], windows[owner], at, places, new[swaps]))
            if len(found) == 1:
                return found[0]
            result = np.empty((len(which), self._values.shape[1]), self._values.dtype)
            result[order] = np.concatenate(found)
            return result

        around = np.pad(states, ((0, 0), (self._widest - 1, 0)))
        offsets = np.delete(np.arange(2 * self._widest - 1), self._widest - 1)
        contents = np.column_stack([positions, around[owners[:, None], positions[:, None] + offsets]])
        keys = self._keys(self._swapped, np.column_stack([contents[group_of], choices]))
        rows = self._swapped.rows(keys, compute)
        texts = np.empty((len(words), self._values.shape[1]), self._values.dtype)
        changed = []
        swaps_of = dict(_runs(owners[group_of]))
        pairs_of = dict(_runs(owners))
        for owner, own in enumerate(windows):
            values = self._network.pooled_values(own)
            texts[owner] = self._join.reduce(values, axis=0)
            if (swaps := swaps_of.get(owner)) is not None:
                elsewhere = self._elsewhere(values, positions[pairs_of[owner]])
                pooled = self._swapped.values[rows[swaps]]
                self._join(pooled, elsewhere[group_of[swaps] - pairs_of[owner].start], out=pooled)
                changed.append(self._logits(pooled))
        return self._logits(texts), np.concatenate(changed)

    def _all_windows(self, words: Array, touched: Array) -> Array:
        """The windows of a text, of which the touched ones are not as in the original."""
        starts = np.flatnonzero(touched)
        if not len(starts):
            return self._windows
        windows = self._windows.copy()
        windows[starts] = self._windows_of(words, starts)
        return windows

    def _with_words(self, words: Array, windows: Array, at: Array, which: Array, new: Array) -> Array:
        """Pooled values [swaps, filters] of the windows that hold a new word, at the positions `at[which]` of a text:
        each window without the old word, plus the new one.
        """
        network, table = self._network, self._network.words.table
        before = np.full((self._widest, windows.shape[1]), -np.inf, windows.dtype)
        framed = np.concatenate([before, windows])  # so that a window may start before the text: it does not exist
        without = -table[words[at]]
        for offset, (own, columns) in enumerate(zip(network.at, network.columns, strict=True)):
            without[:, own] += framed[self._widest + at - offset, :columns]
        pooled = np.full((len(new), windows.shape[1]), network.nothing, windows.dtype)
        for start in range(0, len(new), BLOCK):
            rows = slice(start, start + BLOCK)
            fresh = without[which[rows]]
            fresh += table[new[rows]]
            fresh = network.pooled_values(fresh)
            for own, columns in zip(network.at, network.columns, strict=True):
                self._join(pooled[rows, :columns], fresh[:, own], out=pooled[rows, :columns])
        return pooled

    def _elsewhere(self, values: Array, at: Array) -> Array:
        """Pooled over the windows that do not hold the word at each of the given positions."""
        nothing = np.full((1, values.shape[1]), self._network.nothing, values.dtype)
        until = np.concatenate([nothing, self._running(values)])  # row j: windows before j
        after = np.concatenate([nothing, self._running(values[::-1])])[::-1]  # row j: windows from j on
        result: Array = after[at + 1]
        for size, group in zip(self._network.sizes, self._network.groups, strict=True):
            self._join(result[:, group], until[(at - size + 1).clip(min=0), group], out=result[:, group])
        return result

    def _running(self, values: Array) -> Array:
        """Pooled over the first windows: in every block at once, row by row, then block by block.

        Accumulate would go down one column at a time.
        """
        blocks = -(-len(values) // RUN)
        result = np.empty((blocks, RUN, values.shape[1]), values.dtype)
        flat = result.reshape(-1, values.shape[1])
        flat[: len(values)], flat[len(values) :] = values, self._network.nothing
        for row in range(1, RUN):
            self._join(result[:, row], result[:, row - 1], out=result[:, row])
        for block in range(1, blocks):
            self._join(result[block], result[block - 1, -1], out=result[block])
        return flat[: len(values)]


def _runs(owners: Array) -> Iterator[tuple[int, slice]]:
    """The stretches of equal owners."""
    edges = np.flatnonzero(np.diff(owners, prepend=-1, append=-2))
    for start, stop in pairwise(edges):
        yield int(owners[start]), slice(int(start), int(stop))
