"""The pages as a reader would follow them: Python blocks and commands, from top to bottom, in one folder.

Blocks of a page share one namespace. A block without a language that follows a Python block at once is what it prints.
Commands stand in blocks marked console; those of the pages in `FOLLOWED` use only files that the page itself makes, and
are run. A block behind the comment <!-- soak --> is run by `make soak` alone.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

FENCE = re.compile(r"^(<!-- soak -->\n)?```(\w*)[^\n]*\n(.*?)^```$(?:\n\n```\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FOLLOWED = (
    "docs/learn/tutorial.md",
    "docs/howto/own-data.md",
    "docs/howto/own-language.md",
    "docs/howto/share.md",
    "docs/howto/verify.md",
)
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")))


@dataclass(frozen=True)
class Piece:
    """One fenced block: where it begins, its language, its text, and what it is said to print."""

    page: Path
    line: int
    language: str
    source: str
    printed: str | None
    soak: bool

    def run(self, namespace: dict[str, Any]) -> str:
        """Execute a Python block, and say what it printed; line numbers in tracebacks are those of the page."""
        code = compile("\n" * (self.line - 1) + self.source, str(self.page), "exec", dont_inherit=True)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
        return out.getvalue()

    @property
    def commands(self) -> Iterator[list[str]]:
        """The command lines of the block, as words; `$ ` in front marks them among their output."""
        lines = self.source.splitlines()
        marked = [line[2:] for line in lines if line.startswith("$ ")]
        for line in marked or lines:
            if words := shlex.split(line, comments=True):
                yield words


def pieces(page: str | Path) -> list[Piece]:
    """Every fenced block of a page, from top to bottom."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    return [
        Piece(path, text.count("\n", 0, found.start(3)) + 1, found[2], found[3], found[4], bool(found[1]))
        for found in FENCE.finditer(text)
    ]
