"""From a text to its lattice: a threat joined with a vocabulary and a tokenizer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from sgbt.core.errors import LexiconError
from sgbt.core.registry import EDITS
from sgbt.data import Tokenizer
from sgbt.data.tokenizer import Tokens
from sgbt.threats.edit_kinds import KINDS, rewrites
from sgbt.threats.lattice import KEPT, ChoiceSets, Lattice, LatticeBuilder
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.near_words import MOST_EDITS
from sgbt.threats.threat import Edit, Threat
from sgbt.threats.token_classes import INSERTED, PLAIN, REOPENED, SHARED, WALL, State, is_read_so
from sgbt.threats.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sgbt.threats.typos import TypoReader
from sgbt.threats.vocabulary import has_bytes

TYPOS = KINDS.index("typos")


@dataclass(frozen=True, eq=False)
class LatticeMaker:
    """Makes the lattice of any text. What it finds about words and stretches of text is kept for the next text.

    Word edits cut a text into pieces: what stands before a word that is replaced, left out, written twice or swapped,
    what stands behind it, and both sides of an inserted word. Typing errors happen within these pieces.
    """

    threat: Threat
    vocabulary: Vocabulary
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        self.tokenizer.require_spaces_separate()
        typos = self.threat.of_kind("typos")
        if typos and (typos.at_most or 0) > MOST_EDITS:
            raise LexiconError(
                expected=f"at most {MOST_EDITS} typing errors", got=str(typos.at_most), where="the threat"
            )
        if self.edits and not is_read_so(self.tokenizer):
            raise LexiconError(
                expected="the default tokenizer beside typing errors", got="another pattern", where="the threat"
            )
        for edit in self.threat.edits:
            if edit.table is not None:
                edit.table.require_read_by(self.tokenizer)

    @property
    def edits(self) -> int:
        """How many typing errors there may be."""
        typos = self.threat.of_kind("typos")
        limits = [0 if typos is None else typos.at_most, self.threat.total]
        return min(limit for limit in limits if limit is not None)

    @cached_property
    def sets(self) -> ChoiceSets:
        """The sets of words of all lattices that this makes."""
        return ChoiceSets()

    @cached_property
    def _misspelt(self) -> Misspelt:
        return Misspelt(self.vocabulary, self.sets)

    @cached_property
    def _typos(self) -> TypoReader:
        from sgbt.threats.typos import TypoReader  # here, for it may load Numba

        return TypoReader(self.edits, self._misspelt)

    @cached_property
    def _words(self) -> WordEdits:
        return WordEdits(self.threat, self.vocabulary, self.sets)

    def of(self, text: str) -> Lattice:
        """What the threat makes of a text."""
        tokens = self.tokenizer.tokenize(text)
        ids = tuple(self.vocabulary.encode(tokens.words))
        builder = LatticeBuilder(self.sets)
        if self.edits:
            last = self._with_typos(tokens, builder)
            spans = [(2 * start, 2 * end) for start, end in zip(tokens.starts, tokens.ends, strict=True)]
        else:
            last = self._in_words(tokens, builder)
            spans = [(2 * gap, 2 * gap + 2) for gap in range(len(tokens))]
        return builder.built(ids, self.threat, last=last, bounded={TYPOS}, spans=spans)

    def _in_words(self, tokens: Tokens, builder: LatticeBuilder) -> int:
        """Gaps between words are all the nodes there are, but for those within two words that an edit writes."""
        count = len(tokens)
        gaps = [builder.node(2 * gap) for gap in range(count + 1)]
        for gap in range(count + 1):
            if gap < count:
                builder.add(gaps[gap], gaps[gap + 1], choices=self._words.own(tokens.words[gap]))
            self._words.insert(gaps[gap], gaps[gap], builder)
            between = partial(builder.node, 2 * gap + 1)
            self._words.replace(tokens.words, gap, gaps[gap], gaps.__getitem__, between, builder)
        return gaps[count]

    def _with_typos(self, tokens: Tokens, builder: LatticeBuilder) -> int:
        if not self._words.any:
            nodes, edges = self._typos.read(tokens.lowered)
            builder.take(nodes, edges)
            return len(nodes) - 1
        walls = np.full(len(tokens.text) + 1, -1, dtype=np.int64)
        walls[[*tokens.starts, len(tokens.text)]] = np.arange(len(tokens) + 1)
        taken = [(place, each) for place in range(len(tokens)) for each in self._words.taken(tokens.words, place)]
        nodes, edges = self._typos.read(
            tokens.lowered,
            stops=tokens.starts,
            walls=walls,
            jumps=[(place, tokens.ends[place + words - 1]) for place, words in taken],
            inserts=self._words.inserts,
        )
        builder.take(nodes, edges)
        for order, used, sort, _ in nodes[:-1].tolist():
            if sort == WALL and order % 2 == 0:
                self._wall(tokens, int(walls[order // 2]), order, used, builder)
        return len(nodes) - 1

    def _wall(self, tokens: Tokens, place: int, order: int, used: int, builder: LatticeBuilder) -> None:
        """Word edits of the word that begins at a node, and insertions before it."""
        entry = builder.node(order, used, WALL, 0)
        starts = [entry]
        if self._words.inserts:
            inserted = builder.node(order, used, INSERTED, 0)
            self._words.insert(entry, inserted, builder)
            self._words.insert(inserted, inserted, builder)
            builder.add(inserted, builder.node(order, used, REOPENED, State.FREE))
            starts.append(inserted)
        for number, start in enumerate(starts):
            between = partial(builder.node, order, used, SHARED + 1 + number)

            def gap(words: int) -> int:
                return builder.node(2 * tokens.ends[words - 1], used, PLAIN, State.FREE)

            self._words.replace(tokens.words, place, start, gap, between, builder)


@dataclass(frozen=True, eq=False)
class WordEdits:
    """The edges of edits of whole words."""

    threat: Threat
    vocabulary: Vocabulary
    sets: ChoiceSets

    @cached_property
    def any(self) -> bool:
        """Whether there is any."""
        return any(edit.kind != "typos" and edit.at_most != 0 for edit in self.threat.edits)

    @cached_property
    def inserts(self) -> bool:
        """Whether words are inserted."""
        return self._edit("insertions") is not None

    def _edit(self, kind: str) -> Edit | None:
        found = self.threat.of_kind(kind)
        return None if found is None or found.at_most == 0 else found

    def taken(self, words: tuple[str, ...], place: int) -> set[int]:
        """How many words edits take at a place."""
        return {taken for edit in self.threat.edits for taken, _ in rewrites(edit, words, place)}

    def own(self, word: str) -> int:
        """The set of a word alone."""
        return self.sets.number_of({self.vocabulary.id_of(word)})

    def insert(self, source: int, target: int, builder: LatticeBuilder) -> None:
        """A word of the list put in."""
        if edit := self._edit("insertions"):
            choices = self.sets.number_of(set(self.vocabulary.encode(edit.words)))
            builder.add(source, target, kind=KINDS.index("insertions"), cost=1, choices=choices)

    def replace(
        self,
        words: tuple[str, ...],
        place: int,
        source: int,
        gap: Callable[[int], int],
        between: Callable[[int], int],
        builder: LatticeBuilder,
    ) -> None:
        """What may be made of the word at a place, and of it and the next one.

        `gap` gives the node behind so many words, `between` the one of a number within words that an edit writes.
        """
        inner = itertools.count()
        for edit in self.threat.edits:
            for taken, written in rewrites(edit, words, place):
                node, cost, kind = source, 1, KINDS.index(edit.kind)
                behind = gap(place + taken)
                itself = written.index((words[place],)) if taken == 1 and (words[place],) in written else -1
                for number, choices in enumerate(written):
                    target = behind if number + 1 == len(written) else between(next(inner))
                    if len(written) > 1:
                        builder.standing[len(builder.edges)] = place if number == itself else -1
                    builder.add(node, target, kind=kind, cost=cost, choices=self._set_of(edit, choices))
                    node, cost, kind = target, 0, KEPT
                if not written:
                    builder.add(node, behind, kind=kind, cost=cost)

    def _set_of(self, edit: Edit, words: tuple[str, ...]) -> int:
        """The set of words to choose from; words of somebody else's edit are looked at once."""
        if edit.kind not in EDITS.own and (odd := next((word for word in words if not _is_word(word)), None)):
            raise LexiconError(
                expected="single words in lower case", got=repr(odd), where=f"what the edit {edit.kind} writes"
            )
        return self.sets.number_of(set(self.vocabulary.encode(words)))


@lru_cache(maxsize=1 << 16)
def _is_word(word: str) -> bool:
    return Tokenizer().is_word(word)


def is_reachable(threat: Threat, original: str, perturbed: str, tokenizer: Tokenizer | None = None) -> bool:
    """Whether the words of `perturbed` stand along a path of the lattice of `original`.

    The lattice is made over the words of `perturbed` alone, so that words are compared one by one, and none of those
    that have to be found is unknown.
    """
    tokenizer = tokenizer or Tokenizer()
    words = tokenizer.words(perturbed)
    vocabulary = Vocabulary(tuple(sorted(filter(has_bytes, set(words)))))
    return LatticeMaker(threat, vocabulary, tokenizer).of(original).holds(tuple(vocabulary.encode(words)))
