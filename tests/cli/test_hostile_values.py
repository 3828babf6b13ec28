"""Every option of every verb with values that nobody means: a sentence or a result, never a traceback, and soon."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.walked import TRAIN, run

from sgbt.cli.verbs import VERBS
from sgbt.core.errors import visible

COMMANDS: dict[str, list[str]] = {
    "train": ["train", "reviews.csv", *TRAIN, "--out", "fresh"],
    "predict": ["predict", "run", "reviews.csv", "--out", "fresh.csv"],
    "certify": ["certify", "run", "--limit", "2"],
    "encode": ["encode", "reviews.csv", "--threat", "synonyms.json", "--out", "fresh.csv"],
    "explain": ["explain", "run", "a good film"],
    "verify": ["verify", "rows.jsonl", "--model", "run"],
    "attack": ["attack", "run", "--limit", "2", "--method", "greedy"],
    "serve": ["serve", "runs/no", "--port", "0"],
    "bench": ["bench", "smoke", "--out", "fresh", "--only", "no/*"],
    "report": ["report", "folder"],
    "publish": ["publish", "run", "--out", "fresh"],
    "data describe": ["data", "describe", "reviews.csv", "--vectors", "vectors.txt", "--substitutions", "none"],
    "data reach": [
        "data",
        "reach",
        "reviews.csv",
        "--vectors",
        "vectors.txt",
        "--substitutions",
        "run/substitutions.json.gz",
    ],
    "data list": ["data", "list"],
    "data verify": ["data", "verify"],
    "data get": ["data", "get", "imbd"],
    "demo": ["demo", "--out", "reviews.csv/below"],
}
HUGE = [str(10**9), str(10**22), str(-(10**22)), "9" * 6000]
NUMBERS = ["-1", "0", *HUGE, "nan", "inf", "-inf", "1e999", "", " ", "0x1"]
TEXTS = ["", " ", ".", "nan", "-", "a" * 5000, "\x1b[31m\u202e\udcff", "[/b]", "../..", "/dev/null", "~nobody/x"]
SECONDS = 30


ELSEWHERE = ("--push", "--address", "--host", "--token")
"""What these name is asked of a network."""


def options(command: Any, name: str) -> Iterator[tuple[str, str, bool]]:
    """Every option below a command that takes a value: its verb, its name, and whether it is a number."""
    for inner, each in getattr(command, "commands", {}).items():
        yield from options(each, f"{name} {inner}")
    if command.callback is None or hasattr(command, "commands"):
        return
    for option in command.params:
        if option.param_type_name == "option" and not option.is_flag and not option.hidden:
            yield name, option.opts[0], option.type_descriptor.annotation in (int, float)


OPTIONS = [each for name, verb in VERBS.items() for each in options(verb.load(name), name)]
CASES = {
    (verb, option): NUMBERS if number else TEXTS
    for verb, option, number in OPTIONS
    if option not in ELSEWHERE and (number or verb != "demo")  # the demo itself takes minutes
}


@pytest.fixture
def own_world(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, for commands that write wherever they are sent; two folders up is still one's own."""
    copy = shutil.copytree(world, tmp_path / "up" / "world", symlinks=True)
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    """An endless command is a failure and not an endless test."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not done within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_every_verb_is_walked() -> None:
    assert {verb for verb, _, _ in OPTIONS} <= COMMANDS.keys()
    numbers = {option for _, option, number in OPTIONS if number}
    assert {"--seed", "--threads", "--limit", "--beta", "--max-changed", "--workers", "--port"} <= numbers


@pytest.mark.parametrize(("verb", "option"), CASES)
def test_a_sentence_or_a_result(own_world: Path, capfd: pytest.CaptureFixture[str], verb: str, option: str) -> None:
    for value in CASES[verb, option]:
        try:
            code = run(*COMMANDS[verb], f"{option}={value}")
        except TimeoutError:
            pytest.fail(f"{option}={value[:40]!r} is not done within {SECONDS} s")
        told = capfd.readouterr()
        assert code in (0, 2), (value[:40], told.err)
        assert "Traceback" not in told.err
        assert visible(told.out + told.err) == told.out + told.err
        assert len(told.err) < 6000, value[:40]
        if code == 2:
            refused = [line for line in told.err.splitlines() if not line.startswith("sgbt: note: ")]
            assert len(refused) == 1, told.err
            assert refused[0].startswith("sgbt: ")
        shutil.rmtree("fresh", ignore_errors=True)


WRONG_NUMBERS = {
    "seed": (["train", "reviews.csv", *TRAIN, "--out", "new", "--seed", str(10**22)], "--seed"),
    "seed of an attack": (["attack", "run", "--method", "greedy", "--seed", str(10**22)], "--seed"),
    "threads": (["certify", "run", "--threads", "1000000000"], "--threads"),
    "threads to train": (["train", "reviews.csv", *TRAIN, "--out", "new", "--threads", "1000000000"], "--threads"),
    "threads to attack": (["attack", "run", "--threads", "1000000000"], "--threads"),
    "workers": (["attack", "run", "--workers", "1000000000"], "--workers"),
    "workers of a benchmark": (["bench", "smoke", "--out", "new", "--workers", "1000000000"], "--workers"),
    "workers of a server": (["serve", "run", "--port", "0", "--workers", "1000000000"], "--workers"),
    "epochs": (["train", "reviews.csv", *TRAIN, "--out", "new", "--epochs", str(10**22)], "--epochs"),
    "a share that is no number": (["attack", "run", "--method", "greedy", "--max-changed", "nan"], "above 0"),
    "a weight without bound": (["train", "reviews.csv", "--beta", "inf", "--out", "new"], "beta at least 0"),
}


@pytest.mark.parametrize("case", WRONG_NUMBERS)
def test_numbers_that_are_refused(world: Path, capfd: pytest.CaptureFixture[str], case: str) -> None:
    arguments, said = WRONG_NUMBERS[case]
    assert run(*arguments) == 2
    told = capfd.readouterr().err
    assert told.startswith("sgbt: ")
    assert told.count("\n") == 1
    assert said in told
    assert not (world / "new").exists()


def test_a_file_whose_name_is_no_text(own_world: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"rev\xff\x1b[31m.csv")
    shutil.copy("reviews.csv", name)
    assert run("train", name, *TRAIN, "--out", "fresh") == 0
    assert run("certify", "fresh", "--limit", "2", "--out", "certificates.jsonl") == 0
    assert run("publish", "fresh", "--out", "shared", "--certificates", "certificates.jsonl") == 0
    told = capfd.readouterr()
    assert visible(told.out) == told.out
    card = Path("shared/README.md").read_text()
    assert visible(card) == card
