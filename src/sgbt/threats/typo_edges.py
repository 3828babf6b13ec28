"""The edges that typing errors add to the lattice of a text, found by compiled loops over arrays.

What is read, and why that is all that an adversary can write, is said in `sgbt.threats.typos`. Stretches of text are
nodes of a trie (`Trie`), so that each is looked up once for all texts; one that nobody has asked for yet is put on a
list, and the text is read again once these are known.
"""

from __future__ import annotations

import numpy as np

from sgbt.core.compiled import compiled_in_place
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import KEPT, NOTHING
from sgbt.threats.stretches import EDGES, FULL, NODES, Found, Group, Target, Text, Trie, Where, asked, child_of, row_of
from sgbt.threats.token_classes import (
    COMMON,
    INSERTED,
    OPEN,
    PLAIN,
    REOPENED,
    SHARED,
    SORTS,
    WALL,
    Kind,
    State,
    everything_of,
    targets_of,
)

STATES = len(State) + 1
FREE, MUST = int(State.FREE), int(State.NOT_MUST_FOLLOW)
TYPOS = KINDS.index("typos")
LAST = -1
"""The number of the last node until all are known."""
NEAR = np.array([targets_of(state) for state in range(STATES)], dtype=np.int64)
EVERYTHING = np.array([everything_of(state) for state in State] + [targets_of(COMMON)], dtype=np.int64)
IS_OPEN = np.array([state in OPEN for state in range(STATES)])
RUN = int(Kind.RUN)


@compiled_in_place
def _node(found: Found, order: int, used: int, sort: int, state: int) -> int:
    number = found.number[order, used, sort, state]
    if number < 0:
        number = found.sizes[NODES]
        if number == len(found.nodes):
            found.sizes[FULL] = 1
            return 0
        found.number[order, used, sort, state] = number
        key = found.nodes[number]
        key[0], key[1], key[2], key[3] = order, used, sort, state
        found.sizes[NODES] += 1
    return int(number)


@compiled_in_place
def _edge(found: Found, source: int, target: int, cost: int, choices: int) -> None:
    number = found.sizes[EDGES]
    if number == len(found.edges):
        found.sizes[FULL] = 1
        return
    edge = found.edges[number]
    edge[0], edge[1], edge[2], edge[3], edge[4] = source, target, TYPOS if cost else KEPT, cost, choices
    found.sizes[EDGES] += 1


@compiled_in_place
def _link(found: Found, source: int, order: int, used: int, sort: int, state: int, choices: int) -> None:
    """An edge; it costs the edits by which its ends differ."""
    target = _node(found, order, used, sort, state)
    _edge(found, source, target, used - found.nodes[source, 1], choices)


@compiled_in_place
def _target(state: int, some_left: bool, kind: int) -> int:
    """The state behind a word of a class, -1 where none can stand."""
    return int(NEAR[state, kind] if some_left else EVERYTHING[state, kind])


@compiled_in_place
def _kept(text: Text, trie: Trie, found: Found, group: Group, row: int, target: Target) -> None:
    """A stretch that is a word as it is, behind every node of a group."""
    (count, used), (order, spent, sort, end), most = group, target, found.number.shape[1] - 1
    table, done = NEAR if used < most else EVERYTHING, spent == most
    if row < 0:  # as if it were one, so that what may stand behind it is asked about too
        for number in range(count):
            after = table[found.state[number], RUN]
            if after >= 0:
                _node(found, order, spent, sort, max(text.final[sort, end, after], 0) if done else after)
        return
    for entry in range(trie.first[row], trie.first[row + 1]):
        for number in range(count):
            after = table[found.state[number], trie.entries[entry, 1]]
            if after >= 0 and done:
                after = text.final[sort, end, after]
            if after >= 0:
                _link(found, found.source[number], order, spent, sort, after, trie.entries[entry, 2])


@compiled_in_place
def _misspelt(text: Text, trie: Trie, found: Found, group: Group, row: int, target: Target) -> None:
    """A stretch that becomes a word by some edits."""
    (count, _), (order, spent, sort, end), most = group, target, found.number.shape[1] - 1
    if row < 0:
        _node(found, order, spent + 1, sort, FREE)
        return
    for entry in range(trie.first[row], trie.first[row + 1]):
        away, kind = trie.entries[entry, 0], trie.entries[entry, 1]
        for number in range(count):
            after = NEAR[found.state[number], kind]
            if after >= 0 and end >= 0 and spent + away == most:
                after = text.final[sort, end, after]
            if after >= 0:
                _link(found, found.source[number], order, spent + away, sort, after, trie.entries[entry, 2])


@compiled_in_place
def _stretch(trie: Trie, found: Found, where: Where, swap: int, before: int, letter: int) -> int:
    """The stretch up to a place out of the one before it, or the word with the last letter of a swap: found once."""
    begun, at, offset = where
    if offset >= found.walks.shape[2]:
        return child_of(trie, found.sizes, before, letter)
    if found.walks[begun, at, offset, swap] < 0:
        found.walks[begun, at, offset, swap] = child_of(trie, found.sizes, before, letter)
    return int(found.walks[begun, at, offset, swap])


@compiled_in_place
def _swaps(
    text: Text, trie: Trie, found: Found, group: Group, where: Where, stretch: int, first: int, left: int
) -> None:
    """Words that end in the second of two characters that change places; the first one comes behind them.

    With two edits, a character between them may go as well.
    """
    for reach in range(2, 2 + min(left, 2)):
        cost = reach - 1
        if not text.swaps[reach, first] or (left == cost and text.broken[reach, first]):
            continue
        word = _stretch(trie, found, where, cost, stretch, text.letters[first + cost])
        target = 2 * first + 1, group[1] + cost, reach, first
        _kept(text, trie, found, group, row_of(trie, found, where, cost, word, 0), target)
        if left > cost:
            _misspelt(text, trie, found, group, row_of(trie, found, where, cost, word, left - cost), target)


@compiled_in_place
def _of_any_length(found: Found, count: int, left: int) -> int:
    """Those of a group behind which more can stand than words of at most two letters, or of digits: how many."""
    kept = 0
    for number in range(count):
        state = found.state[number]
        if state == COMMON or (left == 0 and IS_OPEN[state]):
            found.state[kept], found.source[kept] = state, found.source[number]
            kept += 1
    return kept


@compiled_in_place
def _words(text: Text, trie: Trie, found: Found, group: Group, begun: int, at: int, edits: int) -> None:
    """One word out of the text from `at` on, behind the first letter of a swap of the reach `begun`, if not 0."""
    count, used = group
    size, left = len(text.letters), edits - used
    stretch, spaces, letters, others, kind = 0, 0, 0, 0, max(begun - 1, 0)
    if begun:
        stretch = _stretch(trie, found, (kind, at, 0), 0, 0, text.letters[at - begun])
        letters, others = int(text.word[at - begun]), int(text.alpha[at - begun])
    for end in range(at, size + 1):
        if found.sizes[FULL]:
            return
        stuck, where, target = text.stuck[end], (kind, at, end - at), (2 * end, used, PLAIN, end)
        if left:
            _swaps(text, trie, found, (count, used), where, stretch, end, left)
        inside = stuck and (text.word[end - 1] if end > at else letters > 0)
        if stretch and not spaces and (left > 0 or not inside):
            _kept(text, trie, found, (count, used), row_of(trie, found, where, 0, stretch, 0), target)
        most = left if not stuck or letters <= left else left - 1
        if most > 0 and spaces <= most:
            _misspelt(text, trie, found, (count, used), row_of(trie, found, where, 0, stretch, most), target)
        if end < size:
            spaces += int(text.space[end])
            letters += int(text.word[end])
            others += int(text.other[end])
            if others > left + 2:
                count = _of_any_length(found, count, left)
            if spaces > left or not count:
                return
            stretch = _stretch(trie, found, (kind, at, end + 1 - at), 0, stretch, text.letters[end])


@compiled_in_place
def _gaps(text: Text, found: Found, source: int, at: int, edits: int) -> None:
    """A space that is passed, a character that becomes one, or a space that comes before the character(s) here."""
    used = found.nodes[source, 1]
    if text.space[at]:
        _link(found, source, 2 * at + 2, used, PLAIN, FREE, NOTHING)
        return
    if edits > used:
        _link(found, source, 2 * at + 2, used + 1, PLAIN, FREE, NOTHING)
        for reach in range(2, 2 + min(edits - used, 2)):
            if at + reach - 1 < len(text.letters) and text.space[at + reach - 1]:
                _link(found, source, 2 * at + 1, used + reach - 1, reach, FREE, NOTHING)


@compiled_in_place
def _behind_swap(text: Text, trie: Trie, found: Found, group: Group, order: int, reach: int, edits: int) -> None:
    at, used = order // 2, group[1]
    left = edits - used
    if left:
        _misspelt(text, trie, found, group, asked(trie, found, 0, left), (order, used, reach, -1))
    if not text.space[at]:
        _words(text, trie, found, group, reach, at + reach, edits)
        return
    for number in range(group[0]):
        state = found.state[number]
        if state != MUST and not (left and IS_OPEN[state]):
            _link(found, found.source[number], 2 * (at + reach), used, PLAIN, FREE, NOTHING)


@compiled_in_place
def _wall(text: Text, found: Found, source: int) -> None:
    """To where word edits begin, and the places that these lead to."""
    order, used = found.nodes[source, 0], found.nodes[source, 1]
    place = text.wall[order // 2]
    known = found.number[order, used, WALL, 0] >= 0
    _link(found, source, order, used, WALL, 0, NOTHING)
    if known:
        return
    if text.inserts:
        _node(found, order, used, INSERTED, 0)
        _node(found, order, used, REOPENED, FREE)
    for number in range(np.searchsorted(text.jumps[:, 0], place), len(text.jumps)):
        if text.jumps[number, 0] != place:
            break
        _node(found, 2 * text.jumps[number, 1], used, PLAIN, FREE)


@compiled_in_place
def _without_words(text: Text, found: Found, source: int, edits: int) -> None:
    """What leaves a node without a word: to what open states share, a space put in, a gap, the end, and word edits."""
    node = found.nodes
    order, used, sort, state = node[source, 0], node[source, 1], node[source, 2], node[source, 3]
    at, behind, left, size = order // 2, order % 2, edits - used, len(text.letters)
    if left and IS_OPEN[state]:
        _link(found, source, order, used, sort if behind else SHARED, COMMON, NOTHING)
    if left and state not in (FREE, COMMON, MUST) and not (at < size and text.space[at]):
        _link(found, source, order, used + 1, sort if behind else PLAIN, FREE, NOTHING)
    if behind or state == MUST:
        return
    if at < size and not (left and IS_OPEN[state]):
        _gaps(text, found, source, at, edits)
    if state == COMMON:
        return
    if at == size:
        _edge(found, source, LAST, 0, NOTHING)
    if text.wall[at] >= 0 and sort != REOPENED:
        _wall(text, found, source)


@compiled_in_place
def read_typos(text: Text, trie: Trie, found: Found, edits: int) -> None:
    """Every edge that leaves a node which can be reached, from left to right.

    Nodes at one place with as many edits used are a group: each stretch is looked at once for all of them.
    """
    _node(found, 0, 0, PLAIN, FREE)
    for order in range(2 * len(text.letters) + 1):
        behind = order % 2
        for used in range(edits + 1):
            count = 0
            for sort in range(SORTS):
                if not behind and sort in (WALL, INSERTED):
                    continue
                for state in range(STATES):
                    source = found.number[order, used, sort, state]
                    if source < 0:
                        continue
                    if found.sizes[FULL]:
                        return
                    _without_words(text, found, source, edits)
                    found.source[count], found.state[count] = source, state
                    count += 1
                if behind and count:
                    _behind_swap(text, trie, found, (count, used), order, sort, edits)
                    count = 0
            if count:
                _words(text, trie, found, (count, used), 0, order // 2, edits)
