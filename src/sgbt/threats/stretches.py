"""What reading typing errors is told about a text, what it finds, and the trie of the stretches that it asks about.

A stretch of text, or one with a letter of a swap, is a node of the trie, so that it is looked up once for all texts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbt.core.compiled import compiled, compiled_in_place

Array = NDArray[Any]
UNSEEN, ASKED = -1, -2
"""Rows of stretches that nobody has asked about, and of those on the list of questions."""
NODES, EDGES, STRETCHES, QUESTIONS, FULL = range(5)
"""What `Found.sizes` counts; the last is 1 where there was no room."""
BY_LETTER = 21
"""Bits of a character."""


class Text(NamedTuple):
    """A text of n characters."""

    letters: Array
    """Their numbers."""
    space: Array
    word: Array
    """Where the tokenizer sees a letter or digit."""
    other: Array
    """Where it sees one that is no digit."""
    alpha: Array
    stuck: Array
    """For every gap, whether no word can end there that goes on to it unchanged: [n + 1]."""
    final: Array
    """The state in the place of each one where no edit is left, -1 for none: [reach, n + 1, states]; reach 0 is a gap,
    2 and 3 are behind a swap that reaches so far."""
    swaps: Array
    """[reach, n + 1]: whether this character and the one that a swap of such a reach brings forward differ."""
    broken: Array
    """[reach, n + 1]: whether a letter then stands behind the word that no letter may follow, if no edit is left."""
    wall: Array
    """For every gap, the word before which word edits begin, -1 for none."""
    jumps: Array
    """Pairs (word, place): from a wall before the word, an edit leads to the place; sorted."""
    inserts: bool


class Trie(NamedTuple):
    """Stretches of text, and by how many edits which sets of words they become; stretch 0 is empty.

    `rows[stretch, most]` is a row of `first`: its entries up to the next row's are (edits, class, set), `most` edits at
    most; 0 of them: the word itself.
    """

    slots: Array
    values: Array
    parent: Array
    letter: Array
    rows: Array
    first: Array
    entries: Array


Where = tuple[int, int, int]
"""By a swap of what reach a stretch is begun, less one, 0 for none; from which place; of how many characters."""
Target = tuple[int, int, int, int]
"""The order, edits used and sort of a node, and the gap where a word ends, -1 where it does not matter."""
Group = tuple[int, int]
"""How many nodes there are in `Found.source`, and the edits used at all of them."""


class Found(NamedTuple):
    """What reading a text brings."""

    number: Array
    """The number of each node, -1 for none: [2 n + 2, edits + 1, SORTS, STATES]."""
    nodes: Array
    """Twice the characters before it (one more between two that changed places), edits used, sort, state."""
    edges: Array
    """(source, target, kind, cost, set)."""
    questions: Array
    """(stretch, edits) that nobody has asked about."""
    walks: Array
    """The stretch at every `Where`, and with the last letter of a swap of reach 2 and 3, -1 for one not looked up:
    [3, n + 1, characters, 3]."""
    rows: Array
    """The rows of these in the trie, by edits, [..., edits + 1]."""
    sizes: Array
    source: Array
    """Nodes at one place, and the state of each."""
    state: Array


@compiled_in_place
def child_of(trie: Trie, sizes: Array, stretch: int, letter: int) -> int:
    """A stretch with one more character, new or not; 0 where there is no room."""
    mask, key = len(trie.slots) - 1, stretch << BY_LETTER | letter
    mixed = stretch * 2654435761 + letter * 40503
    at = (mixed ^ mixed >> 15) & mask
    while trie.slots[at] != key:
        if trie.slots[at] < 0:
            fresh = sizes[STRETCHES]
            if fresh == len(trie.parent):
                sizes[FULL] = 1
                return 0
            trie.slots[at], trie.values[at] = key, fresh
            trie.parent[fresh], trie.letter[fresh] = stretch, letter
            trie.rows[fresh, :] = UNSEEN
            sizes[STRETCHES] += 1
            return int(fresh)
        at = at + 1 & mask
    return int(trie.values[at])


@compiled_in_place
def copy_stretches(old: Trie, trie: Trie, sizes: Array) -> None:
    """All of a full trie into a larger one, under the same numbers."""
    for stretch in range(len(old.parent)):
        if stretch:
            child_of(trie, sizes, old.parent[stretch], old.letter[stretch])
        for most in range(old.rows.shape[1]):
            trie.rows[stretch, most] = old.rows[stretch, most]


@compiled
def spelled(trie: Trie, stretches: Array) -> tuple[Array, Array]:
    """The characters of stretches, one behind another, and where each begins."""
    begin = np.zeros(len(stretches) + 1, dtype=np.int64)
    for place in range(len(stretches)):
        stretch, size = stretches[place], 0
        while stretch:
            stretch = trie.parent[stretch]
            size += 1
        begin[place + 1] = begin[place] + size
    letters = np.empty(begin[-1], dtype=np.int64)
    for place in range(len(stretches)):
        stretch, at = stretches[place], begin[place + 1]
        while stretch:
            at -= 1
            letters[at] = trie.letter[stretch]
            stretch = trie.parent[stretch]
    return letters, begin


@compiled_in_place
def asked(trie: Trie, found: Found, stretch: int, most: int) -> int:
    """The row of what a stretch becomes, negative where that is not known yet: then it is put on the list."""
    row = trie.rows[stretch, most]
    if row == UNSEEN:
        if found.sizes[QUESTIONS] == len(found.questions):
            found.sizes[FULL] = 1
            return ASKED
        trie.rows[stretch, most] = ASKED
        found.questions[found.sizes[QUESTIONS], 0], found.questions[found.sizes[QUESTIONS], 1] = stretch, most
        found.sizes[QUESTIONS] += 1
    return int(row)


@compiled_in_place
def row_of(trie: Trie, found: Found, where: Where, swap: int, stretch: int, most: int) -> int:
    """The same, asked once for a place in the text."""
    begun, at, offset = where
    if offset >= found.rows.shape[2]:
        return asked(trie, found, stretch, most)
    if found.rows[begun, at, offset, swap, most] < 0:
        found.rows[begun, at, offset, swap, most] = asked(trie, found, stretch, most)
    return int(found.rows[begun, at, offset, swap, most])
