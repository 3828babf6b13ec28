"""The first line of word2vec files: how many words there are, and how wide their vectors."""

from __future__ import annotations

from dataclasses import dataclass

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
