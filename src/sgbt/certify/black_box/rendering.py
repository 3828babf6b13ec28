"""Words written as one readable line, in a way that depends on the words alone and not on spaces in the source."""

from __future__ import annotations

from collections.abc import Iterable

from sgbt.data import Tokenizer
from sgbt.data.tokenizer import ENGLISH

CLOSING = frozenset(",.;:!?)]}%")
OPENING = frozenset("([{")
_WORD, _CLITIC, _MARK = range(3)


def rendered(pieces: Iterable[str], tokenizer: Tokenizer) -> str:
    """The words with spaces between, but for marks and clitics of English, which stand where a writer puts them.

    The default tokenizer reads the result as these words again; any other tokenizer gets a space everywhere.
    """
    if tokenizer.pattern != ENGLISH:
        return " ".join(pieces)
    written: list[str] = []
    before, kind_before = "", _MARK
    for piece in pieces:
        kind = _kind(piece)
        if written and not _touching(before, kind_before, piece, kind):
            written.append(" ")
        written.append(piece)
        before, kind_before = piece, kind
    return "".join(written)


def space_between(before: str, piece: str, tokenizer: Tokenizer) -> bool:
    """Whether `rendered` puts a space between two pieces that follow each other."""
    return tokenizer.pattern != ENGLISH or not _touching(before, _kind(before), piece, _kind(piece))


def is_plain(piece: str) -> bool:
    """Whether a piece is a word of letters, so that the spaces around it are those around any other such word."""
    return piece.isalpha() and _kind(piece) == _WORD


def _kind(piece: str) -> int:
    if piece[0].isalnum() or piece[0] == "_":
        return _CLITIC if len(piece) == 3 and not piece.isalpha() and piece[2] in "tT" and piece[0] in "nN" else _WORD
    return _CLITIC if len(piece) > 1 and piece[-1].isalpha() else _MARK


def _touching(before: str, kind_before: int, piece: str, kind: int) -> bool:
    if kind == _MARK:
        if kind_before == _MARK:
            return not (before[-1] == "." and piece[0] == ".")
        return piece[0] in CLOSING
    if kind == _CLITIC:
        return kind_before == _WORD and before.isalpha()
    return kind_before == _MARK and before in OPENING
