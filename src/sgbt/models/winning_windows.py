"""Loops of max pooling over windows of words, forwards and back, compiled by Numba: import it only where that is
installed.

A table [rows, size, filters] has what the filters make of the word, or set of words, of a row at each offset of a
window; `places` [texts, words] says which row stands where. NaN wins: it is never lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.core.compiled import compiled

Floats = NDArray[Any]
Ints = NDArray[np.int64]
Windows = NDArray[np.int32]
Holders = NDArray[Any]


@compiled
def extremes(
    values: Floats, starts: Ints, members: Ints, epsilon: float, offset: int, ends: Floats, who: Holders
) -> None:
    """The least and the greatest of `values` [words, filters] over the words `members[starts[set] : starts[set + 1]]`
    of each set, drawn towards its first word by `epsilon`, and that word's own: into `ends[:, set, offset]`.

    Bit k of `who[:, set, offset]` says whether word k of the set has the least, or the greatest.
    """
    share = values.dtype.type(epsilon)
    filters = values.shape[1]
    low, high = np.empty(filters, values.dtype), np.empty(filters, values.dtype)
    lowest, highest = np.empty(filters, who.dtype), np.empty(filters, who.dtype)
    for one in range(len(starts) - 1):
        own = values[members[starts[one]]]
        low[:] = own
        high[:] = own
        lowest[:] = 1
        highest[:] = 1
        for member in range(starts[one] + 1, starts[one + 1]):
            row, bit = values[members[member]], who.dtype.type(1 << (member - starts[one]))
            for number in range(filters):
                value, least, most = row[number], low[number], high[number]
                below, above = (value < least) | (value != value), (value > most) | (value != value)
                low[number] = value if below else least
                high[number] = value if above else most
                before, after = lowest[number], highest[number]
                lowest[number] = bit if below else (before | bit if value == least else before)
                highest[number] = bit if above else (after | bit if value == most else after)
        if epsilon != 1.0:
            for number in range(filters):
                low[number] = own[number] + share * (low[number] - own[number])
                high[number] = own[number] + share * (high[number] - own[number])
        ends[0, one, offset] = low
        ends[1, one, offset] = high
        ends[2, one, offset] = own
        who[0, one, offset] = lowest
        who[1, one, offset] = highest


@compiled
def winners(table: Floats, places: Ints, counts: Ints, greatest: Floats, windows: Windows) -> None:
    """The greatest sum over the first `counts[text]` windows of each text, and the window, both [texts, filters].

    Where several windows have it, the first one is written as -1 - window.
    """
    _, size, filters = table.shape
    total = np.empty(filters, table.dtype)
    for text in range(len(places)):
        best, found, place = greatest[text], windows[text], places[text]
        best[:] = -np.inf
        found[:] = 0
        for window in range(counts[text]):
            row = table[place[window], 0]
            for one in range(filters):
                total[one] = row[one]
            for offset in range(1, size):
                row = table[place[window + offset], offset]
                for one in range(filters):
                    total[one] += row[one]
            number = np.int32(window)
            for one in range(filters):
                value, most, before = total[one], best[one], found[one]
                better = (value > most) | (value != value)
                again = min(before, np.int32(-1) - before)
                best[one] = value if better else most
                found[one] = number if better else (again if value == most else before)


@compiled
def spread(
    gradient: Floats,
    windows: Windows,
    table: Floats,
    places: Ints,
    counts: Ints,
    starts: Ints,
    members: Ints,
    who: Holders,
    epsilon: float,
    vectors: Floats,
    weights: Floats,
    wrt_vectors: Floats,
    wrt_weights: Floats,
) -> None:
    """The way back: what `gradient` [texts, filters] at the winners of `table` gives to weights and words.

    Windows, and words of a set (`who`, see `extremes`), that share the first place share the gradient evenly; the first
    word of a set has the share that `epsilon` leaves, or all of it where `who` is empty. `weights` and `wrt_weights`
    are [size, filters, width]; `wrt_vectors` is [words, width], or has no rows where nothing is asked of it.
    """
    _, size, filters = table.shape
    share = gradient.dtype.type(epsilon)
    own, one = gradient.dtype.type(1) - share, who.dtype.type(1)
    for number in range(filters):
        for text in range(len(places)):
            given, window = gradient[text, number], windows[text, number]
            if given == 0:
                continue
            last, best = window, given
            if window < 0:
                window, last = -1 - window, counts[text] - 1
                best = _sum(table, places[text], window, number)
                ties = 0
                for other in range(window, last + 1):
                    ties += _sum(table, places[text], other, number) == best
                given /= ties
            for other in range(window, last + 1):
                if last > window and _sum(table, places[text], other, number) != best:
                    continue
                for offset in range(size):
                    place = places[text, other + offset]
                    start, holders = starts[place], who[place, offset, number] if len(who) else one
                    weight, taken = weights[offset, number], wrt_weights[offset, number]
                    part = share * given / _bits(holders)
                    while holders:
                        if holders & 1:
                            _give(part, members[start], vectors, weight, wrt_vectors, taken)
                        holders >>= 1
                        start += 1
                    if own:
                        _give(own * given, members[starts[place]], vectors, weight, wrt_vectors, taken)


@compiled
def spread_over_places(
    gradient: Floats, windows: Windows, table: Floats, places: Ints, counts: Ints, weights: Floats, wrt_places: Floats
) -> None:
    """What `gradient` [texts, filters] at the winners of `table` gives to the vectors at the places themselves, [texts,
    words, width]; `weights` is [size, filters, width]."""
    _, size, filters = table.shape
    for text in range(len(places)):
        for number in range(filters):
            given, window = gradient[text, number], windows[text, number]
            last, best = window, given
            if window < 0:
                window, last = -1 - window, counts[text] - 1
                best = _sum(table, places[text], window, number)
                ties = 0
                for other in range(window, last + 1):
                    ties += _sum(table, places[text], other, number) == best
                given /= ties
            for other in range(window, last + 1):
                if last > window and _sum(table, places[text], other, number) != best:
                    continue
                for offset in range(size):
                    weight, back = weights[offset, number], wrt_places[text, other + offset]
                    for place in range(len(weight)):
                        back[place] += given * weight[place]


@compiled
def along(slopes: Floats, vectors: Floats, choices: Ints, allowed: NDArray[np.bool_], values: Floats) -> None:
    """`values` [texts, words, choices]: the vector of each allowed choice times the slope at its place; others are
    left as they are."""
    texts, words, slots = choices.shape
    lanes = 16
    parts = np.empty(lanes, vectors.dtype)
    for text in range(texts):
        for word in range(words):
            slope = slopes[text, word]
            for slot in range(slots):
                if not allowed[text, word, slot]:
                    continue
                vector = vectors[choices[text, word, slot]]
                parts[:] = 0
                whole = len(slope) // lanes * lanes
                for start in range(0, whole, lanes):
                    for lane in range(lanes):
                        parts[lane] += slope[start + lane] * vector[start + lane]
                for place in range(whole, len(slope)):
                    parts[0] += slope[place] * vector[place]
                values[text, word, slot] = parts.sum()


@compiled
def spread_over_sets(
    gradient: Floats, who: Holders, starts: Ints, members: Ints, epsilon: float, wrt_values: Floats
) -> None:
    """The way back of one end of `extremes`: what `gradient` [sets, numbers] gives to values [words, numbers]."""
    share = gradient.dtype.type(epsilon)
    own = gradient.dtype.type(1) - share
    for one in range(len(starts) - 1):
        first, several = starts[one], starts[one + 1] - starts[one] > 1
        for number in range(gradient.shape[1]):
            given, having = gradient[one, number], who[one, number]
            part = share * given / _bits(having) if several else given
            member = first
            while having:
                if having & 1:
                    wrt_values[members[member], number] += part
                having >>= 1
                member += 1
            if several and own:
                wrt_values[members[first], number] += own * given


@compiled
def _sum(table: Floats, place: Ints, window: int, number: int) -> Any:
    total = table[place[window], 0, number]
    for offset in range(1, table.shape[1]):
        total += table[place[window + offset], offset, number]
    return total


@compiled
def _bits(holders: int) -> int:
    count = 0
    while holders:
        holders &= holders - 1
        count += 1
    return count


@compiled
def _give(part: Any, word: int, vectors: Floats, weight: Floats, wrt_vectors: Floats, taken: Floats) -> None:
    vector = vectors[word]
    for place in range(len(vector)):
        taken[place] += part * vector[place]
    if len(wrt_vectors):
        back = wrt_vectors[word]
        for place in range(len(weight)):
            back[place] += part * weight[place]
