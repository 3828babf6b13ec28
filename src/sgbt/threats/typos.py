"""The lattice of typing errors: the text read from left to right, word by word, with the edits that each word takes.

However k edits change a text, the words of the result come from stretches of the text that lie one behind another, each
with its share of the edits, and so do the gaps between them. So a node is a place between two characters, with the
edits used so far and with what stands before it as far as the tokenizer cares (`sgbt.threats.token_classes`); an edge
is a stretch that becomes one word at the cost of its distance from that word, a space that is passed, one that is
inserted, or a character that becomes one. Two neighbouring characters that change places with the border between two
words, or with one space, between them belong to no single stretch: such swaps have nodes of their own.

Where no edit is left, what stands behind a place is known, and states between which it makes no difference are one.

The loops are in `typo_edges`; here is what they are told about a text, and about the stretches that they ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from sgbt.threats.lattice import Ints
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.near_words import Strings
from sgbt.threats.stretches import (
    BY_LETTER,
    EDGES,
    FULL,
    NODES,
    QUESTIONS,
    STRETCHES,
    UNSEEN,
    Found,
    Text,
    Trie,
    copy_stretches,
    spelled,
)
from sgbt.threats.token_classes import ALPHA, NOT, OTHER, SORTS, SPACE, WORD, State, are, letters_of, without_edits
from sgbt.threats.typo_edges import LAST, STATES, read_typos

END = (1 << 62, 0, 0, 0)
"""The last node."""
MOST_STRETCHES = 1 << 21
"""When so many are known, all are forgotten."""
MOST_ANSWERS = 3
LONG, MANY = 32, 20_000
"""Longer stretches are looked up each time, and so are nearly all in a text of more characters: memory is bounded."""


class TypoReader:
    """Reads texts with at most `edits` typing errors; what it learns of stretches of text is kept for the next one."""

    def __init__(self, edits: int, misspelt: Misspelt) -> None:
        self.edits, self.misspelt = edits, misspelt
        self._forget()

    def _forget(self) -> None:
        self._trie = _empty_trie(1 << 12)
        self._stretches, self._rows, self._entries = 1, 1, 0  # row 0 is empty
        self._room = {"nodes": 1 << 12, "edges": 1 << 14, "questions": 1 << 12}

    def read(
        self,
        text: str,
        *,
        stops: Collection[int] = (),
        walls: Ints | None = None,
        jumps: Sequence[tuple[int, int]] = (),
        inserts: bool = False,
    ) -> tuple[Ints, Ints]:
        """Nodes, the last one behind all others, and edges (source, target, kind, cost, set).

        Word edits may begin at the places `stops`; the other arguments are those of `typo_edges.Text`.
        """
        if self._stretches > MOST_STRETCHES:
            self._forget()
        given = _described(text, frozenset(stops), walls, jumps, inserts)
        while True:
            found = self._found(len(text))
            read_typos(given, self._trie, found, self.edits)
            self._stretches = int(found.sizes[STRETCHES])
            self._answer(found.questions[: found.sizes[QUESTIONS]])
            if found.sizes[FULL]:
                self._enlarge(found)
            elif not found.sizes[QUESTIONS]:
                break
        nodes, edges = found.nodes[: found.sizes[NODES]], found.edges[: found.sizes[EDGES]]
        edges[edges[:, 1] == LAST, 1] = len(nodes)
        return np.vstack([nodes, END]), edges

    def _found(self, size: int) -> Found:
        sizes = np.zeros(5, dtype=np.int64)
        sizes[STRETCHES] = self._stretches
        long = LONG if size <= MANY else 1
        return Found(
            number=np.full((2 * size + 2, self.edits + 1, SORTS, STATES), -1, dtype=np.int32),
            nodes=np.empty((self._room["nodes"], 4), dtype=np.int64),
            edges=np.empty((self._room["edges"], 5), dtype=np.int64),
            questions=np.empty((self._room["questions"], 2), dtype=np.int64),
            walks=np.full((3, size + 1, long, 3), -1, dtype=np.int32),
            rows=np.full((3, size + 1, long, 3, self.edits + 1), -1, dtype=np.int32),
            sizes=sizes,
            source=np.empty(SORTS * STATES, dtype=np.int64),
            state=np.empty(SORTS * STATES, dtype=np.int64),
        )

    def _enlarge(self, found: Found) -> None:
        """Twice the room of whatever was full."""
        for name, count in (("nodes", NODES), ("edges", EDGES), ("questions", QUESTIONS)):
            if found.sizes[count] == self._room[name]:
                self._room[name] *= 2
        if self._stretches == len(self._trie.parent):
            old, trie = self._trie, _empty_trie(2 * self._stretches)
            sizes = np.zeros(5, dtype=np.int64)
            sizes[STRETCHES] = 1
            copy_stretches(old, trie, sizes)
            self._trie = trie._replace(first=old.first, entries=old.entries)

    def _answer(self, questions: Ints) -> None:
        """What stretches become, by the vocabulary."""
        for most in range(self.edits + 1):
            stretches = questions[questions[:, 1] == most, 0]
            if not len(stretches):
                continue
            found, of = self.misspelt.answers(Strings(*spelled(self._trie, stretches)), most)
            entries = np.array([entry for each in found for entry in each], dtype=np.int64).reshape(-1, 3)
            ends = self._entries + np.cumsum([len(each) for each in found])
            trie = self._trie = self._trie._replace(
                entries=_with_room(self._trie.entries, self._entries + len(entries)),
                first=_with_room(self._trie.first, self._rows + len(found) + 1),
            )
            empty = np.array([not each for each in found])
            trie.rows[stretches, most] = np.where(empty[of], 0, self._rows + of)
            trie.entries[self._entries : self._entries + len(entries)] = entries
            trie.first[self._rows + 1 : self._rows + 1 + len(found)] = ends
            self._rows, self._entries = self._rows + len(found), self._entries + len(entries)


def _with_room(array: Ints, size: int) -> Ints:
    return array if size <= len(array) else np.resize(array, (2 * size, *array.shape[1:]))


def _empty_trie(room: int) -> Trie:
    trie = Trie(
        slots=np.full(4 * room, -1, dtype=np.int64),
        values=np.empty(4 * room, dtype=np.int32),
        parent=np.empty(room, dtype=np.int32),
        letter=np.empty(room, dtype=np.int32),
        rows=np.empty((room, MOST_ANSWERS), dtype=np.int32),
        first=np.zeros(1 << 12, dtype=np.int64),
        entries=np.empty((1 << 12, 3), dtype=np.int64),
    )
    trie.rows[0] = UNSEEN
    return trie


def _described(
    text: str, stops: frozenset[int], walls: Ints | None, jumps: Sequence[tuple[int, int]], inserts: bool
) -> Text:
    size = len(text)
    letters = np.append(letters_of(text), 0)
    space, word, other, alpha = (are(letters, sort) for sort in (SPACE, WORD, OTHER, ALPHA))
    may_end = np.zeros(size + 1, dtype=bool)
    may_end[list(stops)] = True
    ahead = np.append(letters[:-1] + 1, np.zeros(6, dtype=np.int64))  # 0 where there is no character any more
    place = np.arange(size + 1)
    triples = [_triple(ahead[place], ahead[place + 1 + gap], ahead[place + 2 + gap]) for gap in range(3)]
    is_not = np.array(triples) == NOT_AHEAD
    keys, row = np.unique(np.stack([triples[0] << 1 | may_end, triples[1] << 1, triples[2] << 1]), return_inverse=True)
    known = np.frombuffer(b"".join(map(_finals, keys.tolist())), np.int8).reshape(-1, STATES)
    final = known[row.reshape(3, -1)[[0, 0, 1, 2]]]
    swaps, broken = np.zeros((4, size + 1), dtype=bool), np.zeros((4, size + 1), dtype=bool)
    for reach in (2, 3):
        second, room = slice(reach - 1, size), size + 1 - reach
        if room > 0:
            swaps[reach, :room] = ~space[second] & (letters[:room] != letters[second])
            broken[reach, :room] = word[:room] & word[second] & ~is_not[reach - 1, :room]
    return Text(
        letters=letters[:-1],
        space=space,
        word=word,
        other=other,
        alpha=alpha,
        stuck=word & ~may_end & ~is_not[0],
        final=final,
        swaps=swaps,
        broken=broken,
        wall=np.full(size + 1, -1, dtype=np.int64) if walls is None else walls,
        jumps=np.array(jumps, dtype=np.int64).reshape(-1, 2),
        inserts=inserts,
    )


def _triple(first: Ints, second: Ints, third: Ints) -> Ints:
    """Three characters as one number; each is one more than its own, or 0 for none."""
    found: Ints = (first << BY_LETTER | second) << BY_LETTER | third
    return found


NOT_AHEAD = int(_triple(*(letters_of(NOT) + 1)))


@lru_cache(maxsize=1 << 16)
def _finals(key: int) -> bytes:
    """`without_edits` of every state, of the shared one none, where a triple of characters follows; the lowest bit
    says whether the text may end there."""
    letters = (key >> shift & (1 << BY_LETTER) - 1 for shift in (2 * BY_LETTER + 1, BY_LETTER + 1, 1))
    following = "".join(chr(letter - 1) for letter in letters if letter)
    return np.array([*without_edits(tuple(range(len(State))), following, bool(key & 1)), -1], dtype=np.int8).tobytes()
