"""What holds for every verb: a mistyped option is corrected, --debug shows the traceback, a pipe gets plain lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.demo_world import made_up
from tests.cli.walked import TRAIN, run
from tests.conftest import ROOT

from sgbt.cli.verbs import VERBS
from sgbt.core.errors import SgbtError


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    loaded = {name: verb.load(name) for name, verb in VERBS.items()}
    alone = {name: command for name, command in loaded.items() if not hasattr(command, "commands")}
    return alone | {
        f"{name} {part}": command
        for name, group in loaded.items()
        for part, command in getattr(group, "commands", {}).items()
    }


COMMANDS = commands()
OPTIONS = [
    (name, option)
    for name, command in COMMANDS.items()
    for parameter in command.params
    for option in parameter.opts
    if option.startswith("--") and option != "--help"
]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda value: value)
def test_a_mistyped_option_is_corrected(name: str, option: str, capfd: pytest.CaptureFixture[str]) -> None:
    for wrong in (option[:-1], f"{option}s", option[:3] + option[4:5] + option[3:4] + option[5:]):
        if any(wrong == known for other, known in OPTIONS if other == name):
            continue
        assert run(*name.split(), wrong, "x") == 2
        told = capfd.readouterr().err
        assert told.startswith("sgbt: No such option"), told
        assert told.count("\n") == 1
        assert option in told


@pytest.mark.parametrize("name", VERBS)
def test_a_mistyped_verb_is_corrected(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(name[:-1]) == 2
    told = capfd.readouterr().err
    assert told.startswith("sgbt: No such command"), told
    assert told.count("\n") == 1
    assert f"'{name}'" in told


WRONG = {
    "demo": ["--substitutions", "none", "--out", "reviews.csv/demo"],
    "data": ["get", "imbd"],
    "train": ["nothing.csv", "--out", "new"],
    "predict": ["nowhere", "reviews.csv"],
    "certify": ["runs/no"],
    "encode": ["nothing.csv"],
    "verify": ["nothing.jsonl", "--model", "runs/no"],
    "explain": ["runs/no", "a film"],
    "attack": ["runs/no"],
    "serve": ["runs/no"],
    "bench": ["tabel1", "--out", "new"],
    "report": ["nothing"],
    "publish": ["runs/no", "--out", "new"],
}


def test_only_a_verb_that_takes_nothing_cannot_be_asked_wrongly() -> None:
    assert set(VERBS) - set(WRONG) == {"docs"}


@pytest.mark.parametrize("name", WRONG)
def test_debug_shows_the_traceback_and_nothing_else_does(
    world: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    made_up(monkeypatch.setattr)
    assert run(name, *WRONG[name]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1, told
    assert "Traceback" not in told
    for words in ([name, *WRONG[name], "--debug"], ["--debug", name, *WRONG[name]]):
        with pytest.raises((SgbtError, OSError)):  # which Python shows with its traceback
            run(*words)


PLAIN = {
    "train": ["train", "reviews.csv", *TRAIN, "--out", "piped"],
    "train a network": ["train", "reviews.csv", "--vectors", "vectors.txt", "--substitutions", "synonyms.json",
                        "--epochs", "1", "--out", "piped-network"],
    "certify": ["certify", "run"],
    "attack": ["attack", "run", "--method", "greedy,pwws"],
    "explain": ["explain", "run", "a good film was bad"],
    "report": ["report", str(ROOT / "results" / "imdb-linear"), "--out", "piped.html"],
    "publish": ["publish", "run", "--out", "piped-shared"],
    "reach": ["data", "reach", "reviews.csv", "--substitutions", "synonyms.json", "--vectors", "vectors.txt"],
    "describe": ["data", "describe", "reviews.csv", "--substitutions", "synonyms.json", "--vectors", "vectors.txt"],
    "list": ["data", "list"],
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_into_a_pipe_go_plain_lines_alone(world: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    assert run(*PLAIN[name]) == 0
    told = capfd.readouterr()
    assert told.err == ""
    assert told.out
    plain(told.out)


def plain(told: str) -> None:
    """No control characters, no line that is empty or drawn over."""
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]", told), told
    assert "" not in told.splitlines(), told
