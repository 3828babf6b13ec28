"""How names and words are written in a line of threats: as they are, or as JSON strings where they would be misread."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from sgbt.core.errors import LexiconError

_STRING = re.compile(r'("(?:\\.|[^"\\])*")')
MARKS = '+|:"'
"""A name with one of these is quoted; a word also because of a comma."""
UNION = " | "


def split(written: str, marks: str) -> list[str]:
    """The parts between any of the marks, those within quotes apart."""
    parts = [""]
    for place, piece in enumerate(_STRING.split(written)):
        first, *more = [piece] if place % 2 else re.split(f"[{re.escape(marks)}]", piece)
        parts[-1] += first
        parts += more
    return parts


def quoted(text: str, *, marks: str = MARKS, reserved: Collection[str] = ()) -> str:
    """The text, as a JSON string where it has a mark, is reserved, or begins or ends with a space."""
    plain = bool(text) and text == text.strip() and text not in reserved and not set(marks) & set(text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def unquoted(written: str) -> str:
    """What `quoted` was given."""
    if '"' not in written:
        return written
    try:
        found = json.loads(written)
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise LexiconError(expected="a name in one pair of quotes", got=written, where="a threat")
    return found


def parts_of_union(name: str) -> Iterator[str]:
    """The names of tables that the name of their union joins."""
    depth, begin = 0, 0
    for place, letter in enumerate(name):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and name.startswith(UNION, place):
            yield from parts_of_union(name[begin:place])
            begin = place + len(UNION)
    last = name[begin:]
    inner = last[1:-1]
    if last == f"({inner})" and UNION in inner and " & " not in inner:
        yield from parts_of_union(inner)
    else:
        yield last
