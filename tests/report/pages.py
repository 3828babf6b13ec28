"""Reading the documents as the tests of their figures do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> str:
    """A document with every stretch of space made one, so that lines may break anywhere."""
    return " ".join(page(name).split())


def rows(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "results" / path).read_text(encoding="utf-8").splitlines()]


def is_a_whole_table(lines: Sequence[str], text: str) -> bool:
    """Whether these lines are all of some table: a rule stands above them and no further line below."""
    found = text.splitlines()
    for place in range(1, len(found) - len(lines) + 1):
        if found[place : place + len(lines)] == list(lines):
            below = found[place + len(lines)] if place + len(lines) < len(found) else ""
            return found[place - 1].startswith(("|---", "| ---")) and not below.startswith("|")
    return False
