"""Every Python block of the pages runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.docs.blocks import Block, python_blocks

PAGES = {"README.md": 1, "docs/data.md": 4, "docs/substitutions.md": 3}
"""The pages, and how many blocks each has."""

SHOWN = re.compile(r"\s*^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_after(block: Block) -> str | None:
    """The plain block that follows at once, which is the output; or nothing."""
    text = block.page.read_text(encoding="utf-8")
    behind = text.index(block.source) + len(block.source) + len("```\n")
    match = SHOWN.match(text, behind)
    return match[1] if match else None


BLOCKS = [block for page in PAGES for block in python_blocks(ROOT / page)]


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block.page.name}:{block.line}" for block in BLOCKS])
def test_it_runs_and_prints_what_is_shown(
    private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: Block
) -> None:
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        block.run({"__name__": block.page.stem})
    shown = shown_after(block)
    assert shown is None or out.getvalue() == shown


def test_no_block_is_overlooked() -> None:
    assert {page: len(python_blocks(ROOT / page)) for page in PAGES} == PAGES
    assert sum(shown_after(block) is not None for block in BLOCKS) == 5


def test_the_first_code_of_the_readme_is_the_two_commands() -> None:
    first = re.search(r"^```\w*\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert first is not None
    assert first[1] == "make demo\nmake test\n"
