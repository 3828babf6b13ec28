"""The lattice of typing errors: the text read from left to right, word by word, with the edits that each word takes.

However k edits change a text, the words of the result come from stretches of the text that lie one behind another, each
with its share of the edits, and so do the gaps between them. So a node is a place between two characters, with the
edits used so far and with what stands before it as far as the tokenizer cares (`sgbt.threats.token_classes`); an edge
is a stretch that becomes one word at the cost of its distance from that word, a space that is passed, one that is
inserted, or a character that becomes one. Two neighbouring characters that change places with the border between two
words, or with one space, between them belong to no single stretch: such swaps have nodes of their own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sgbt.threats.lattice import LatticeBuilder
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.threat import KINDS
from sgbt.threats.token_classes import IN_A_RUN, NEXT, NOT, Kind, State, is_word_character

TYPOS = KINDS.index("typos")
PLAIN, WALL, INSERTED, REOPENED = range(4)
"""Sorts of nodes at one place: in the text, where word edits begin, behind inserted words, in the text behind those."""


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """A place in the text. Behind a swap (`sort` is how far it reaches) the place lies between both characters."""

    order: int
    """Twice the number of characters before it; one more between two that changed places."""
    used: int
    sort: int
    state: State

    @property
    def key(self) -> tuple[int, ...]:
        """By which a builder knows it."""
        return (self.order, self.used, self.sort, int(self.state))


class TypoReader:
    """Reads one text with at most `edits` typing errors into a builder; word edits may begin at the places `stops`."""

    def __init__(
        self, text: str, edits: int, misspelt: Misspelt, builder: LatticeBuilder, stops: Collection[int] = ()
    ) -> None:
        self.text, self.edits, self.misspelt, self.builder = text, edits, misspelt, builder
        self.spaces = [letter.isspace() for letter in text]
        self.letters = [is_word_character(letter) for letter in text]
        self.goes_on = [letter and place not in stops for place, letter in enumerate(self.letters)] + [False]
        self.waiting: list[set[Node]] = [set() for _ in range(2 * len(text) + 2)]

    def node(self, node: Node) -> int:
        """The number of a node, which is kept to be read from."""
        self.waiting[node.order].add(node)
        return self.builder.node(*node.key)

    def place(self, at: int, used: int, state: State, sort: int = PLAIN) -> Node:
        """The node in front of the character `at`."""
        return Node(2 * at, used, sort, state)

    def link(self, source: Node, target: Node, choices: int = -1) -> None:
        """An edge; it costs the edits by which its ends differ."""
        cost = target.used - source.used
        number = self.builder.node(*source.key)
        self.builder.add(number, self.node(target), kind=TYPOS if cost else -1, cost=cost, choices=choices)

    def read_from(self, node: Node) -> None:
        """Add every edge that leaves a node."""
        if node.order % 2:
            self._behind_swap(node)
            return
        at, left = node.order // 2, self.edits - node.used
        may_stop = node.state is not State.NOT_MUST_FOLLOW
        if at < len(self.text) and may_stop and self.spaces[at]:
            self.link(node, self.place(at + 1, node.used, State.FREE))
        if left and may_stop:
            if node.state is not State.FREE and not (at < len(self.text) and self.spaces[at]):
                self.link(node, self.place(at, node.used + 1, State.FREE))
            if at < len(self.text) and not self.spaces[at]:
                self.link(node, self.place(at + 1, node.used + 1, State.FREE))
            if at + 1 < len(self.text) and self.spaces[at + 1] and not self.spaces[at]:
                self.link(node, Node(2 * at + 1, node.used + 1, 2, State.FREE))
            if left > 1 and at + 2 < len(self.text) and self.spaces[at + 2] and not self.spaces[at]:
                self.link(node, Node(2 * at + 1, node.used + 2, 3, State.FREE))
        self._words(node, "", at)

    def _behind_swap(self, node: Node) -> None:
        first = node.order // 2
        if self.edits > node.used:
            if node.state not in (State.FREE, State.NOT_MUST_FOLLOW):
                self.link(node, Node(node.order, node.used + 1, node.sort, State.FREE))
            for away, kind, choices in self.misspelt.changed("", self.edits - node.used):
                if kind in NEXT[node.state]:
                    state = NEXT[node.state][kind]
                    self.link(node, Node(node.order, node.used + away, node.sort, state), choices)
        if not self.spaces[first]:
            self._words(node, self.text[first], first + node.sort)
        elif node.state is not State.NOT_MUST_FOLLOW:
            self.link(node, self.place(first + node.sort, node.used, State.FREE))

    def _words(self, node: Node, begun: str, at: int) -> None:
        """One word out of what was `begun` and the text from `at` on."""
        text, left, spaces = self.text, self.edits - node.used, 0
        letters = sum(map(is_word_character, begun))
        follow = NEXT[node.state]
        for end in range(at, len(text) + 1):
            stretch = begun + text[at:end]
            if left:
                self._swaps(node, stretch, end, left)
            if stretch and not spaces:
                kept = self.misspelt.unchanged(stretch)
                if kept is not None and kept[0] in follow:
                    self._end(node, end, 0, follow[kept[0]], kept[1])
            most = left if not self.goes_on[end] or letters <= left or text.startswith(NOT, end) else left - 1
            if most > 0 and spaces <= most:
                for away, kind, choices in self.misspelt.changed(stretch, most):
                    if kind in follow:
                        self._end(node, end, away, follow[kind], choices)
            if end < len(text):
                spaces += self.spaces[end]
                letters += self.letters[end]
                if spaces > left:
                    return

    def _end(self, node: Node, end: int, away: int, state: State, choices: int) -> None:
        """An edge to the place `end`, unless nothing could follow there."""
        used = node.used + away
        stuck = state in IN_A_RUN and self.goes_on[end]
        if used == self.edits and stuck and not self.text.startswith(NOT, end):
            return
        if used <= self.edits and not (end * 2 == node.order and not away):
            self.link(node, self.place(end, used, state), choices)

    def _swaps(self, node: Node, stretch: str, first: int, left: int) -> None:
        """Words that end in the second of two characters that change places; the first one comes behind them.

        With two edits, a character between them may go as well.
        """
        text = self.text
        for reach in (2, 3)[:left]:
            second = first + reach - 1
            if second >= len(text) or self.spaces[second] or text[first] == text[second]:
                continue
            used = reach - 1
            behind = self.letters[first] and self.letters[second]
            joined = text[first] + text[second + 1 : second + 3] == NOT
            word = stretch + text[second]
            if left - used < (behind and not joined):
                continue
            for away, kind, choices in self._any(word, left - used):
                state = NEXT[node.state].get(kind)
                if state is None:
                    continue
                self.link(node, Node(2 * first + 1, node.used + used + away, reach, state), choices)

    def _any(self, word: str, most: int) -> list[tuple[int, Kind, int]]:
        kept = self.misspelt.unchanged(word)
        found: list[tuple[int, Kind, int]] = [] if kept is None else [(0, kept[0], kept[1])]
        return found + (list(self.misspelt.changed(word, most)) if most > 0 else [])
