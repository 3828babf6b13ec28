"""docs/howto/benchmark.md: its grid can be read, and it names every grid. (Its blocks are run with all pages.)"""

from __future__ import annotations

import re

from tests.conftest import ROOT

from sgbt.evaluate import SHIPPED
from sgbt.evaluate.grid_file import parse_grid

PAGE = ROOT / "docs" / "howto" / "benchmark.md"


def test_the_grid_of_the_page_can_be_read() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = [cell.name for cell in parse_grid(text, name="own", where="the page").cells()]
    assert "reviews/cnn/sgbt-gamma0.3/0" in names
    assert "reviews/linear/certified/0" in names
    assert "reviews/linear/certified/1" not in names


def test_every_shipped_grid_is_told_of() -> None:
    assert all(f"| `{name}` |" in PAGE.read_text() for name in SHIPPED)
