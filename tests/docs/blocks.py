"""The Python blocks of a Markdown page, so that pages can be executed as tests.

`run_page(page)` is a whole test. The blocks of one page share one namespace, as a reader who pastes them one after the
other would have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """The text of one block, and where it stands: line numbers in tracebacks are those of the page."""

    page: Path
    line: int
    source: str

    def run(self, namespace: dict[str, Any]) -> None:
        code = compile("\n" * (self.line - 1) + self.source, str(self.page), "exec")
        exec(code, namespace)


def python_blocks(page: Path) -> list[Block]:
    """Every fenced block marked python, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, match.start(1)) + 1, match[1]) for match in FENCE.finditer(text)]


def run_page(page: Path) -> int:
    """Execute a page from top to bottom, and say how many blocks it had."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    blocks = python_blocks(page)
    for block in blocks:
        block.run(namespace)
    return len(blocks)
