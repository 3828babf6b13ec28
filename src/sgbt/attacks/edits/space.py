"""ThreatSpace: what a threat makes of one text, as places with choices, so that every search works on it.

A place is a stretch of the text, and its choices are the edits that may be made of it: a word replaced, left out,
doubled or misspelt; two neighbours swapped or run together; words put between others. A text of the space is a
choice at every place. Not every such text is one: edits must lie beside each other and keep the budgets (`admits`).
What is written is read again from its string, so nothing here has to be believed: `is_reachable` has the last word.

The texts of a threat's space, scored as strings: each distinct one is asked about once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.edits.typing_errors import TypingErrors
from sgbt.attacks.queries.engine import CallableEngine, Classify
from sgbt.attacks.space import SearchSpace, State
from sgbt.data.tokenizer import Tokens, in_casing_of
from sgbt.threats import Threat
from sgbt.threats.edit_kinds import KINDS, rewrites

MOST_WRITTEN = 64
"""Of a rewrite with several words to choose, so many ways are tried."""


@dataclass(frozen=True, slots=True)
class Option:
    """What is written in place of a stretch, as which kind of edit, and how many of its budget it takes.

    What is written of whole words stands apart from the text around it.
    """

    kind: str
    written: str
    cost: int = 1

    @property
    def apart(self) -> bool:
        """Whether nothing that it touches may run together with it."""
        return self.kind != "typos"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A place of the space: `text[start:end]`, the words from `place` on, and what may be made of it."""

    start: int
    end: int
    place: int
    options: tuple[Option, ...]


@dataclass(frozen=True, eq=False)
class ThreatSpace(SearchSpace):
    """The edits of one text that a threat allows; `options` are the strings, the text's own first."""

    tokens: Tokens
    threat: Threat
    stretches: tuple[Stretch, ...]

    @staticmethod
    def under(threat: Threat, tokens: Tokens, errors: TypingErrors, *, length: int | None = None) -> ThreatSpace:
        """The space of a text; what stands behind its first `length` words is left as it is."""
        stretches = sorted(_stretches(threat, tokens, errors, length), key=lambda each: (each.start, each.end))
        texts = tuple(
            (tokens.text[each.start : each.end], *(option.written for option in each.options)) for each in stretches
        )
        return ThreatSpace(texts, tokens, threat, tuple(stretches))

    @property
    def limited(self) -> bool:
        """Not all combinations of choices are texts of the space."""
        return True

    def admits(self, states: State) -> NDArray[np.bool_]:
        """Which texts keep the budgets, with edits beside each other."""
        places, chosen = np.arange(len(self)), states.clip(0)
        cost, kind = self._costs[places, chosen], self._kinds[places, chosen]
        found = np.ones(len(states), dtype=bool)
        for edit in self.threat.edits:
            if edit.at_most is not None:
                found &= np.where(kind == KINDS.index(edit.kind), cost, 0).sum(axis=1) <= edit.at_most
        if self.threat.total is not None:
            found &= cost.sum(axis=1) <= self.threat.total
        one, other = self._overlapping
        found &= ~((chosen[:, one] != 0) & (chosen[:, other] != 0)).any(axis=1)
        return found

    def written(self, state: State) -> str:
        """The text of a state."""
        plain, apart = (self._joined(state, apart=each) for each in (False, True))
        read = self.tokens.tokenizer.words
        return plain if read(plain) == read(apart) else apart

    def spaced(self, state: State) -> str:
        """The same, with more spaces: read alike, and sooner written."""
        return self._joined(state, apart=True)

    def edits_of(self, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places and choices that are edits of a kind, in the order of the text; all, if the threat has no such."""
        if self.threat.of_kind(kind) is None:
            return self.swaps
        pairs = [(at, choice) for at, each in enumerate(self.stretches)
                 for choice, option in enumerate(each.options, 1) if option.kind == kind]  # fmt: skip
        places, choices = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(places, dtype=np.int64), np.array(choices, dtype=np.int64)

    def _joined(self, state: State, *, apart: bool) -> str:
        text, joined, position, open_ = self.tokens.text, "", 0, False
        for at in np.flatnonzero(state > 0).tolist():
            stretch, option = self.stretches[at], self.stretches[at].options[state[at] - 1]
            for piece, whole in ((text[position : stretch.start], False), (option.written, option.apart)):
                open_ |= whole
                joined, open_ = _appended(joined, piece, space=apart and open_), (whole or (open_ and not piece))
            position = stretch.end
        return _appended(joined, text[position:], space=apart and open_)

    @cached_property
    def _costs(self) -> NDArray[np.int64]:
        return self._table([[option.cost for option in each.options] for each in self.stretches])

    @cached_property
    def _kinds(self) -> NDArray[np.int64]:
        return self._table([[KINDS.index(option.kind) for option in each.options] for each in self.stretches])

    def _table(self, rows: list[list[int]]) -> NDArray[np.int64]:
        found = np.zeros((len(rows), max(map(len, rows), default=0) + 1), dtype=np.int64)
        for place, row in enumerate(rows):
            found[place, 1 : len(row) + 1] = row
        return found

    @cached_property
    def _overlapping(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        pairs = []
        for at, one in enumerate(self.stretches):
            for behind in range(at + 1, len(self.stretches)):
                other = self.stretches[behind]
                if other.start >= one.end and one.end > one.start:
                    break
                if other.start < one.end or (one.start, one.end) == (other.start, other.end):
                    pairs.append((at, behind))
                elif other.start > one.start:
                    break
        found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]


def _appended(joined: str, piece: str, *, space: bool) -> str:
    """One more piece, with a space before it if it would touch what must stand apart."""
    touching = space and joined and piece and not joined[-1].isspace() and not piece[0].isspace()
    return f"{joined} {piece}" if touching else joined + piece


def _stretches(threat: Threat, tokens: Tokens, errors: TypingErrors, length: int | None) -> Iterator[Stretch]:
    """Stretches with at least one option."""
    read = len(tokens) if length is None else min(length, len(tokens))
    typos = threat.of_kind("typos")
    edits = 0 if typos is None else min(typos.at_most or 0, 2 if threat.total is None else threat.total)
    inserted = threat.of_kind("insertions")
    for place in range(read + 1):
        start = tokens.starts[place] if place < len(tokens) else len(tokens.text)
        if inserted is not None and inserted.at_most:
            yield Stretch(start, start, place, tuple(Option("insertions", word) for word in inserted.words))
        if place >= read:
            return
        by_width: dict[int, list[Option]] = {}
        for edit in threat.edits:
            for taken, written in rewrites(edit, tokens.words, place):
                if place + taken <= read:
                    by_width.setdefault(taken, []).extend(_written(edit.kind, tokens, place, taken, written))
        if edits:
            by_width.setdefault(1, []).extend(_misspelt(tokens, place, edits, errors))
            if place + 1 < read and (joined := _run_together(tokens, place, errors)):
                by_width.setdefault(2, []).extend(joined)
        for width, options in by_width.items():
            if options:
                yield Stretch(start, tokens.ends[place + width - 1], place, tuple(options))


def _written(
    kind: str, tokens: Tokens, place: int, taken: int, written: tuple[tuple[str, ...], ...]
) -> Iterator[Option]:
    """The ways to write a rewrite that changes something, each word in the casing of one that it replaces."""
    shown = [tokens.text[tokens.starts[at] : tokens.ends[at]] for at in range(place, place + taken)]
    for number, words in enumerate(product(*written)):
        if number == MOST_WRITTEN:
            return
        if words == tokens.words[place : place + taken]:
            continue
        own = dict(zip(tokens.words[place : place + taken], shown, strict=True))
        cased = [own.get(word) or in_casing_of(shown[min(at, taken - 1)], word) for at, word in enumerate(words)]
        yield Option(kind, " ".join(cased))


def _misspelt(tokens: Tokens, place: int, edits: int, errors: TypingErrors) -> Iterator[Option]:
    start, end = tokens.starts[place], tokens.ends[place]
    before, behind = _letters_before(tokens.text, start), _letters_behind(tokens.text, end)
    word = tokens.text[start:end]
    yield from (Option("typos", written) for written in errors.of_word(before, word, behind))
    if edits > 1:
        yield from (Option("typos", written, 2) for written in errors.two(tokens.words[place]))


def _run_together(tokens: Tokens, place: int, errors: TypingErrors) -> list[Option]:
    """Errors between a word and the next one, where a single space stands between them, or none."""
    start, middle, behind, end = (
        tokens.starts[place], tokens.ends[place], tokens.starts[place + 1], tokens.ends[place + 1],
    )  # fmt: skip
    text = tokens.text
    if behind - middle > 1:
        return []
    return [Option("typos", each) for each in errors.of_gap(text[start:middle], text[middle:behind], text[behind:end])]


def _letters_before(text: str, start: int) -> str:
    at = start
    while at and not text[at - 1].isspace():
        at -= 1
    return text[at:start]


def _letters_behind(text: str, end: int) -> str:
    at = end
    while at < len(text) and not text[at].isspace():
        at += 1
    return text[end:at]


class ThreatEngine(CallableEngine):
    """What a victim says about texts as they are written; of a state that is none, what it says about the original."""

    def __init__(self, classify: Classify, space: ThreatSpace) -> None:
        super().__init__(classify, space, space.tokens)
        self._edits = space

    def _written(self, state: State) -> str:
        return self._edits.spaced(state) if self._edits.admits(state[None])[0] else self._edits.tokens.text
