"""Kinds of edits: for each kind of word edit, what it writes in the place of which words.

A kind of word edit is a function of an `Edit`, the words of a text and a place: it yields rewrites. A rewrite says how
many words it takes, from the place on, and for each word that it writes the words to choose from. Deletion takes one
word and writes none, duplication writes two, a swap takes two and writes two. Lattices, training and attacks all ask
these functions, so a kind of somebody else's is one function, named in `sgbt.core.registry.EDITS` or by an entry point
of the group sgbt.edits. Typing errors are no word edits: they are about characters (`sgbt.threats.typos`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from sgbt.core.errors import LexiconError, did_you_mean
from sgbt.core.registry import EDITS

if TYPE_CHECKING:
    from sgbt.threats.threat import Edit

ANY = "any"
Words = tuple[str, ...]
Rewrite = tuple[int, tuple[Words, ...]]
"""How many words are taken, and for each word that is written the words to choose from."""


class WordEdit(Protocol):
    """What an edit of one kind may write at a place of a text."""

    def __call__(self, edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
        """Every rewrite of the words from `place` on; there is a word at the place."""
        ...


class Kinds(Sequence[str]):
    """The names of kinds by number: those of sgbt first, others from when they are first asked for."""

    def __init__(self) -> None:
        self._names = list(EDITS.own)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._names[number]

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The number of a kind; one that nothing has registered is refused."""
        if name not in self._names:
            if name not in EDITS:
                raise LexiconError(
                    expected=f"a kind of edit among {', '.join(EDITS)}",
                    got=repr(name),
                    where="a threat",
                    remedy=did_you_mean(name, EDITS),
                )
            self._names.append(name)
        return self._names.index(name)


KINDS = Kinds()
"""The kinds of edits, in the order in which names and lattices list them."""


def substitutions(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """A word replaced by one that the table has for it."""
    if edit.table is not None and (found := edit.table.substitutes(words[place])):
        yield 1, (tuple(found),)


def deletions(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """A word of the list left out."""
    if edit.words == (ANY,) or words[place] in edit.words:
        yield 1, ()


def duplications(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """A word written twice."""
    yield 1, ((words[place],), (words[place],))


def insertions(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """A word of the list put before the place, which may be behind all words."""
    yield 0, (edit.words,)


def adjacent_swaps(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """Two words in the other order; equal ones too, for typing errors beside them then stand apart from both."""
    if place + 1 < len(words):
        yield 2, ((words[place + 1],), (words[place],))


def rewrites(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """What an edit may write at a place, checked; nothing for typing errors and insertions, and none at the end."""
    if edit.at_most == 0 or edit.kind in ("typos", "insertions") or place >= len(words):
        return
    for taken, written in EDITS[edit.kind](edit, words, place):
        if not 1 <= taken <= len(words) - place or not all(written):
            raise LexiconError(
                expected=f"rewrites that take 1 to {len(words) - place} words, with a choice for each word written",
                got=f"{taken} words for {written!r}"[:80],
                where=f"the edit {edit.kind} at {words[place]!r}",
            )
        yield taken, written
