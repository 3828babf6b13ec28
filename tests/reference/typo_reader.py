"""The lattice of typing errors in plain Python, one step for each place between two characters, edits used and class of
the word before: what `sgbt.threats.typo_edges` is compared with.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from functools import cached_property, lru_cache, partial

from sgbt.data.tokenizer import Tokens
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import NOTHING, LatticeBuilder
from sgbt.threats.maker import LatticeMaker
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.token_classes import (
    COMMON,
    INSERTED,
    NOT,
    OPEN,
    PLAIN,
    REOPENED,
    SHARED,
    WALL,
    State,
    everything_of,
    is_word_character,
    targets_of,
    without_edits,
)

TYPOS = KINDS.index("typos")

Targets = tuple[int, ...]
"""For every class, the state behind a word of it, or -1."""
Node = tuple[int, int, int, int]
"""Twice the number of characters before it (one more between two that changed places), edits used, sort, state. Behind
a swap, the sort is how far it reaches."""
MUST = State.NOT_MUST_FOLLOW


END = (1 << 62,)


class Grouped:
    """What a stretch becomes by the state behind the word, each asked about once."""

    def __init__(self, misspelt: Misspelt) -> None:
        self._sets, self.found = misspelt._sets, misspelt.changed
        self.unchanged = lru_cache(maxsize=1 << 20)(misspelt.unchanged)
        self.changed = lru_cache(maxsize=1 << 20)(misspelt.changed)
        self.grouped = lru_cache(maxsize=1 << 20)(self._grouped)

    def _grouped(self, text: str, edits: int, near: Targets, final: Targets) -> tuple[tuple[int, int, int], ...]:
        """The same by the state behind the word: by `near`, and by `final` where all edits are used.

        Triples (edits, state, number of the set of ids).
        """
        found: dict[tuple[int, int], list[int]] = {}
        for away, kind, number in self.changed(text, edits):
            state = (final if away == edits else near)[kind]
            if state >= 0 and near[kind] >= 0:
                found.setdefault((away, state), []).append(number)
        return tuple(
            (away, state, numbers[0] if len(numbers) == 1 else self._joined(numbers))
            for (away, state), numbers in found.items()
        )

    def _joined(self, numbers: list[int]) -> int:
        return self._sets.number_of({word for number in numbers for word in self._sets[number]})


class PlainLatticeMaker(LatticeMaker):
    """A maker of lattices that reads with the plain reader."""

    @cached_property
    def _plain(self) -> Grouped:
        return Grouped(self._misspelt)

    def _with_typos(self, tokens: Tokens, builder: LatticeBuilder) -> int:
        stops = frozenset(tokens.starts) if self._words.any else frozenset()
        reader = PlainTypoReader(tokens.lowered, self.edits, self._plain, builder, stops)
        walls = {2 * start: place for place, start in enumerate(tokens.starts)} | {2 * len(tokens.text): len(tokens)}
        reader.node((0, 0, PLAIN, State.FREE))
        last = builder.node(*END)
        for order, waiting in enumerate(reader.waiting):
            while waiting:
                node = heapq.heappop(waiting)
                reader.read_from(node)
                _, _, sort, state = node
                if state in (State.NOT_MUST_FOLLOW, COMMON):
                    continue
                if order == 2 * len(tokens.text):
                    builder.add(builder.node(*node), last)
                if order in walls and sort != REOPENED:
                    self._plain_wall(tokens, walls[order], node, reader)
        return last

    def _plain_wall(self, tokens: Tokens, place: int, node: Node, reader: PlainTypoReader) -> None:
        """Word edits of the word that begins at a node, and insertions before it."""
        if not self._words.any:
            return
        builder = reader.builder
        wall = (node[0], node[1], WALL, 0)
        known = wall in builder.keys
        entry = builder.node(*wall)
        builder.add(builder.node(*node), entry)
        if known:
            return
        ends = [start * 2 for start in (0, *tokens.ends)]
        starts = [entry]
        if self._words.inserts:
            inserted = builder.node(node[0], node[1], INSERTED, 0)
            self._words.insert(entry, inserted, builder)
            self._words.insert(inserted, inserted, builder)
            builder.add(inserted, reader.node((node[0], node[1], REOPENED, State.FREE)))
            starts.append(inserted)
        for number, start in enumerate(starts):
            between = partial(builder.node, node[0], node[1], SHARED + 1 + number)

            def gap(words: int) -> int:
                return reader.node((ends[words], node[1], PLAIN, State.FREE))

            self._words.replace(tokens.words, place, start, gap, between, builder)


class PlainTypoReader:
    """Reads one text with at most `edits` typing errors into a builder; word edits may begin at the places `stops`."""

    def __init__(
        self, text: str, edits: int, misspelt: Grouped, builder: LatticeBuilder, stops: Collection[int] = ()
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
