"""Text of others as it may be shown: what would steer a terminal, or turn the order of letters, is written out.

File names, labels, words and texts can hold anything. Control characters (C0 but for line break and tab, delete,
C1), marks that override the direction of writing, and halves of surrogate pairs appear as their escapes.
"""

from __future__ import annotations

import re

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def visible(text: str) -> str:
    """The same text, with an escape in place of every character that does more than stand where it is."""
    return _STEERING.sub(_escape, text) if _STEERING.search(text) else text


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
