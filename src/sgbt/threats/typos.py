"""The lattice of typing errors: the text read from left to right, word by word, with the edits that each word takes.

However k edits change a text, the words of the result come from stretches of the text that lie one behind another, each
with its share of the edits, and so do the gaps between them. So a node is a place between two characters, with the
edits used so far and with what stands before it as far as the tokenizer cares (`sgbt.threats.token_classes`); an edge
is a stretch that becomes one word at the cost of its distance from that word, a space that is passed, one that is
inserted, or a character that becomes one. Two neighbouring characters that change places with the border between two
words, or with one space, between them belong to no single stretch: such swaps have nodes of their own.

Where no edit is left, what stands behind a place is known, and states between which it makes no difference are one.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from functools import lru_cache

from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import NOTHING, LatticeBuilder
from sgbt.threats.misspelt import Misspelt, Targets
from sgbt.threats.token_classes import (
    COMMON,
    NOT,
    OPEN,
    State,
    everything_of,
    is_word_character,
    targets_of,
    without_edits,
)

TYPOS = KINDS.index("typos")
PLAIN, WALL, INSERTED, REOPENED = range(4)
"""Sorts of nodes at one place: in the text, where word edits begin, behind inserted words, in the text behind those."""
SHARED = 9
"""The sort of the node that states share behind which nearly the same may follow."""

Node = tuple[int, int, int, int]
"""Twice the number of characters before it (one more between two that changed places), edits used, sort, state. Behind
a swap, the sort is how far it reaches."""
MUST = State.NOT_MUST_FOLLOW


class TypoReader:
    """Reads one text with at most `edits` typing errors into a builder; word edits may begin at the places `stops`."""

    def __init__(
        self, text: str, edits: int, misspelt: Misspelt, builder: LatticeBuilder, stops: Collection[int] = ()
    ) -> None:
        self.text, self.edits, self.misspelt, self.builder = text, edits, misspelt, builder
        self.size, self.stops = len(text), stops
        self.spaces = [letter.isspace() for letter in text]
        self.letters = [is_word_character(letter) for letter in text]
        self.goes_on = [letter and place not in stops for place, letter in enumerate(self.letters)] + [False]
        self.waiting: list[list[Node]] = [[] for _ in range(2 * len(text) + 2)]
        self._seen: set[Node] = set()

    def node(self, node: Node) -> int:
        """The number of a node, which is kept to be read from."""
        if node not in self._seen:
            self._seen.add(node)
            heapq.heappush(self.waiting[node[0]], node)
        return self.builder.node(*node)

    def link(self, source: Node, target: Node, choices: int = NOTHING) -> None:
        """An edge; it costs the edits by which its ends differ."""
        cost = target[1] - source[1]
        number = self.node(target)
        self.builder.edges.append((self.builder.keys[source], number, TYPOS if cost else -1, cost, choices))

    def read_from(self, node: Node) -> None:
        """Add every edge that leaves a node."""
        order, used, sort, state = node
        left = self.edits - used
        at, behind_swap = order // 2, order % 2
        if left and state in OPEN:
            self.link(node, (order, used, sort if behind_swap else SHARED, COMMON))
        if left and state not in (State.FREE, COMMON, MUST) and not (at < self.size and self.spaces[at]):
            self.link(node, (order, used + 1, sort if behind_swap else PLAIN, State.FREE))
        if behind_swap:
            if left:
                targets = targets_of(state)
                for away, after, choices in self.misspelt.grouped("", left, targets, targets):
                    self.link(node, (order, used + away, sort, after), choices)
            if not self.spaces[at]:
                self._words(node, self.text[at], at + sort)
            elif state != MUST and not (left and state in OPEN):
                self.link(node, (2 * (at + sort), used, PLAIN, State.FREE))
            return
        if at < self.size and state != MUST and not (left and state in OPEN):
            self._gaps(node, at, left)
        self._words(node, "", at)

    def _gaps(self, node: Node, at: int, left: int) -> None:
        """A space that is passed, a character that becomes one, or a space that comes before the character(s) here."""
        used = node[1]
        if self.spaces[at]:
            self.link(node, (2 * at + 2, used, PLAIN, State.FREE))
            return
        if left:
            self.link(node, (2 * at + 2, used + 1, PLAIN, State.FREE))
            for reach in (2, 3)[:left]:
                if at + reach - 1 < self.size and self.spaces[at + reach - 1]:
                    self.link(node, (2 * at + 1, used + reach - 1, reach, State.FREE))

    def _words(self, node: Node, begun: str, at: int) -> None:
        """One word out of what was `begun` and the text from `at` on."""
        text, size, goes_on, misspelt = self.text, self.size, self.goes_on, self.misspelt
        order, used, _, state = node
        left = self.edits - used
        targets = targets_of(state) if left else everything_of(state)
        short = state != COMMON and (left > 0 or state not in OPEN)  # words of at most two letters, or of digits
        spaces, letters, others = 0, sum(map(is_word_character, begun)), sum(map(str.isalpha, begun))
        for end in range(at, size + 1):
            stretch = begun + text[at:end]
            stuck = goes_on[end] and not text.startswith(NOT, end)
            if left:
                self._swaps(node, stretch, end, left, targets)
            inside = stuck and (self.letters[end - 1] if end > at else bool(letters))
            if stretch and not spaces and (left or not inside):
                kept = misspelt.unchanged(stretch)
                if kept is not None and (after := targets[kept[0]]) >= 0:
                    self._end(node, end, used, after, kept[1])
            most = left if not stuck or letters <= left else left - 1
            if most > 0 and spaces <= most:
                final = without_edits(targets, text[end : end + 3], end in self.stops) if most == left else targets
                for away, after, choices in misspelt.grouped(stretch, most, targets, final):
                    if 2 * end != order or away:
                        self.link(node, (2 * end, used + away, PLAIN, after), choices)
            if end < size:
                spaces += self.spaces[end]
                letters += self.letters[end]
                others += self.letters[end] and not text[end].isdecimal()
                if spaces > left or (short and others > left + 2):
                    return

    def _end(self, node: Node, end: int, used: int, after: int, choices: int) -> None:
        """An edge to the place `end` of a word that was not changed, unless nothing could follow there."""
        if used == self.edits:
            after = _single(after, self.text[end : end + 3], end in self.stops)
        if after >= 0:
            self.link(node, (2 * end, used, PLAIN, after), choices)

    def _swaps(self, node: Node, stretch: str, first: int, left: int, targets: Targets) -> None:
        """Words that end in the second of two characters that change places; the first one comes behind them.

        With two edits, a character between them may go as well.
        """
        text = self.text
        for reach in (2, 3)[:left]:
            second, cost = first + reach - 1, reach - 1
            if second >= self.size or self.spaces[second] or text[first] == text[second]:
                continue
            behind = text[first] + text[second + 1 : second + 3]
            if left == cost and self.letters[first] and self.letters[second] and behind != NOT:
                continue
            word, used = stretch + text[second], node[1] + cost
            kept = self.misspelt.unchanged(word)
            if kept is not None and (after := targets[kept[0]]) >= 0:
                after = _single(after, behind, False) if used == self.edits else after
                if after >= 0:
                    self.link(node, (2 * first + 1, used, reach, after), kept[1])
            if left > cost:
                final = without_edits(targets, behind, False)
                for away, after, choices in self.misspelt.grouped(word, left - cost, targets, final):
                    self.link(node, (2 * first + 1, used + away, reach, after), choices)


@lru_cache(maxsize=1 << 16)
def _single(state: int, following: str, stop: bool) -> int:
    return without_edits((state,), following, stop)[0]
