"""The list of verbs is true, complete, and shown without loading any of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.conftest import Command
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.cli.verbs import VERBS


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_loads_and_explains_all_its_options(name: str) -> None:
    command = VERBS[name].load(name)
    for part in getattr(command, "commands", {name: command}).values():
        assert part.help, name
        for parameter in part.params:
            assert getattr(parameter, "help", None), f"sgbt {name}: {parameter.name} says nothing of itself"
            assert parameter.help.endswith("."), parameter.help


@pytest.mark.parametrize("name", VERBS)
def test_help_of_a_verb_is_shown(name: str) -> None:
    told = CliRunner().invoke(app, [name, "--help"])
    assert told.exit_code == 0
    assert "Usage:" in told.output


def test_the_list_shows_every_verb() -> None:
    told = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    for name, verb in VERBS.items():
        assert name in told
        assert verb.summary in told


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["data", "list"], ["data", "get", "imbd"], *([name, "--help"] for name in VERBS)],
)
def test_what_needs_no_model_starts_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from sgbt.cli import main\n"
        f"sys.argv = {['sgbt', *arguments]!r}\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "False"


def test_the_package_itself_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "sgbt", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("sgbt ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dta"], "sgbt: No such command 'dta'. Did you mean 'data'?\n"),
        (["train", "imdb"], "sgbt: Missing option '--out'; see: sgbt train --help\n"),
        (["train"], "sgbt: Missing option '--out'; see: sgbt train --help\n"),
        (["data", "list", "--data-hom", "x"], "(Possible options: --data-home); see: sgbt data list --help\n"),
    ],
)
def test_words_that_do_not_fit_are_one_sentence(sgbt_command: Command, arguments: list[str], sentence: str) -> None:
    done = sgbt_command(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("sgbt: ")
    assert done.stderr.endswith(sentence)
    assert done.stderr.count("\n") == 1


def test_debug_may_stand_behind_the_verb(sgbt_command: Command) -> None:
    done = sgbt_command("data", "get", "imbd", "--debug")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
