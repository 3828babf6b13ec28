"""Text of others on a card: in Markdown, in a code span or in YAML it is text and nothing else."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sgbt.core.visible import visible

_MARKS = re.compile(r"[\\`*_{}\[\]#|~$!]")
_BEGINNING = re.compile(r"^(\d+)([.)])|^([-+=])")
_ADDRESSES = {"://": ":&#47;&#47;", "www.": "www&#46;", "@": "&#64;"}
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_HALVES = re.compile("[\ud800-\udfff]")


def as_text(text: object) -> str:
    """One line of Markdown that shows these letters: no cell, tag, link, emphasis or heading begins or ends in it."""
    escaped = _MARKS.sub(r"\\\g<0>", html.escape(_in_one_line(text), quote=False))
    escaped = _BEGINNING.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", escaped)
    for address, entity in _ADDRESSES.items():
        escaped = escaped.replace(address, entity)
    return escaped


def as_code(text: object) -> str:
    """These letters as code, also in a cell of a table, where a span can hold neither every pipe nor every backtick."""
    line = _in_one_line(text)
    return f"<code>{as_text(line)}</code>" if re.search(r"[`|\\<&]", line) else f"`{line}`"


def as_yaml(value: Any) -> str:
    """A value of JSON on one line of YAML, which every reader of YAML 1.1 and 1.2 reads as that value."""
    if isinstance(value, str):
        whole = _HALVES.sub("\ufffd", value)
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(whole, ensure_ascii=False))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_yaml(str(name))}: {as_yaml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_yaml, value)) + "]"
    if isinstance(value, float):  # 4e-05 would be a text
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else "null"
    return json.dumps(value)


def _in_one_line(text: object) -> str:
    return visible(" ".join(str(text).split()))
