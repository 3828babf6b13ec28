"""What every loader yields: a block of words with their vectors, small enough to hold several of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbt.core.errors import EmbeddingError


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a word2vec file promises."""

    words: int
    width: int

    def check_count(self, count: int, where: str) -> None:
        """Raise unless the file held as many vectors as its header promises."""
        if count != self.words:
            raise EmbeddingError(
                expected=f"{self.words} vectors, as the header says",
                got=str(count),
                where=where,
                remedy="the file is cut short or was edited: fetch it again",
            )


def header_of(line: bytes) -> Header | None:
    """The header that `line` spells (exactly two positive whole numbers), or None."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    words, width = int(fields[0]), int(fields[1])
    return Header(words, width) if width > 0 else None


BLOCK_BYTES = 1 << 22
"""How much of a file is read at a time."""

Keep = Callable[[str], bool]
"""Tells whether a word's vector is to be kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Words of a file in their order, and their vectors, float32 [words, width]."""

    words: list[str]
    vectors: NDArray[np.float32]


def keeps(words: Collection[str] | None) -> Keep:
    """Membership in `words`; every word is kept when there is no such set."""
    if words is None:
        return lambda _: True
    return frozenset(words).__contains__


def first_occurrences(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same blocks without words that came before: the first vector of a word counts, as in the common tools."""
    seen: set[str] = set()
    for block in blocks:
        kept = []
        for row, word in enumerate(block.words):
            if word not in seen:
                seen.add(word)
                kept.append(row)
        if len(kept) == len(block.words):
            yield block
        else:
            yield Block([block.words[row] for row in kept], block.vectors[kept])


def check_finite(block: Block, where: Callable[[int], str]) -> Block:
    """The block itself if all its numbers are finite; `where` names the place of a row."""
    bad = ~np.isfinite(block.vectors).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise EmbeddingError(
            expected="finite numbers",
            got=f"NaN or infinity in the vector of {block.words[row]!r}",
            where=where(row),
            remedy="remove that entry or fetch the file again",
        )
    return block
