"""docs/reference/training.md names what there is: options, objectives and presets."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.core.registry import OBJECTIVES
from sgbt.training import PRESETS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "training.md"


def test_every_option_objective_and_preset_of_the_page_exists() -> None:
    page = PAGE.read_text()
    told = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    commands = [line for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    options = {
        option for line in commands for option in re.findall(r"(?<=train ).*", line) for option in option.split()
    }
    for option in {option for option in options if option.startswith("--")}:
        assert option in told, option
    for name in OBJECTIVES:
        assert f"| `{name}` |" in page
    for name in PRESETS:
        assert name in page
