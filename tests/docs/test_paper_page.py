from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from tests.docs.pages import pieces

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "theory" / "paper.md"


def test_every_erratum_of_a_formula_has_a_counterexample_that_runs():
    assert sum(piece.language == "python" for piece in pieces(PAGE)) >= 8  # test_pages runs them


def test_a_failing_block_names_its_line_on_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nassert 1 == 2\n```\n\n```text\nnot python\n```\n")
    block, _ = pieces(page)
    assert block.line == 4
    with pytest.raises(AssertionError) as caught:
        block.run({})
    assert caught.traceback[-1].lineno + 1 == 4


def test_functions_and_tests_named_on_the_page_exist():
    text = PAGE.read_text(encoding="utf-8")
    names = set(re.findall(r"`(sgbt\.bounds(?:\.\w+)+)`", text))
    assert len(names) > 8
    for name in names:
        resolve(name)
    tests = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text))
    assert len(tests) > 8
    for path, function in tests:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in source, f"{path}::{function}"


def resolve(name: str) -> object:
    """The object of a dotted name: the longest module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)
