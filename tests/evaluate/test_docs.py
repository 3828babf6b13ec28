"""docs/benchmark.md says what is true: its Python runs, its grid can be read, its commands are commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.docs.blocks import run_page
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.evaluate import SHIPPED
from sgbt.evaluate.grid_file import parse_grid

PAGE = ROOT / "docs" / "benchmark.md"


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGBT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run_page(PAGE) == 2


def test_the_grid_of_the_page_can_be_read() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = [cell.name for cell in parse_grid(text, name="own", where="the page").cells()]
    assert "reviews/cnn/sgbt-gamma0.3/0" in names
    assert "reviews/linear/certified/0" in names
    assert "reviews/linear/certified/1" not in names


def test_every_option_and_grid_of_the_page_exists() -> None:
    page = PAGE.read_text()
    commands = [line for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    for verb in ("bench", "report"):
        told = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
        own = [line for line in commands if line.startswith(f"sgbt {verb} ")]
        assert own
        for option in {word for line in own for word in line.split() if word.startswith("--")}:
            assert option in told, option
    assert all(f"| `{name}` |" in page for name in SHIPPED)
