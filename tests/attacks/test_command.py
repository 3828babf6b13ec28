"""`sgbt attack` as a person runs it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.attacks.world import World
from typer.testing import CliRunner

from sgbt.attacks import read_rows
from sgbt.cli.app import app
from sgbt.core.errors import SgbtError
from sgbt.models import TextClassifier, save_classifier


@pytest.fixture
def run(world: World, classifier_of: Callable[..., TextClassifier], tmp_path: Path) -> Path:
    double = classifier_of("cnn")
    single = replace(double, model=copy.deepcopy(double.model).float())  # folders hold float32
    save_classifier(single, tmp_path / "run")
    texts, labels = world.texts(40, length=9)
    lines = [f"{text},label {label}" for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["review,verdict", *lines]))
    return tmp_path / "run"


def invoke(run: Path, *options: str) -> str:
    data = ["--data", str(run.parent / "data.csv"), "--text", "review", "--label", "verdict"]
    result = CliRunner().invoke(app, ["attack", str(run), *data, *options])
    if result.exception:
        raise result.exception
    return result.output


def test_rows_summary_and_examples(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    options = ("--method", "pwws,ga:openattack", "--split", "all", "--limit", "15", "--out", str(out))
    shown = invoke(run, *options, "--csv", str(tmp_path / "log.csv"))
    assert len(read_rows(out)) == 30
    assert {row.method for row in read_rows(out)} == {"pwws", "genetic:openattack"}
    assert "(AUA)" in shown
    assert "robust against all 2" in shown
    assert "label 0 -> label 1" in shown or "label 1 -> label 0" in shown
    assert (tmp_path / "log.csv").read_text().startswith("original_text,perturbed_text")
    before = out.read_bytes()
    invoke(run, *options)
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "pwsw"), "did you mean pwws"),
        (("--split", "tset"), "one of train, dev, test, all"),
        (("--method", "greedy", "--max-changed", "2"), "max_changed"),
        (("--label", "review"), "label"),
    ],
)
def test_mistakes_are_told_in_a_sentence(run: Path, options: tuple[str, ...], message: str) -> None:
    with pytest.raises(SgbtError, match=message):
        invoke(run, *options)


def test_labels_are_numbered_as_the_model_numbers_them(
    world: World, classifier_of: Callable[..., TextClassifier], tmp_path: Path
) -> None:
    """A file names its labels in any order, as for sgbt certify; the names decide, and an unknown one is refused."""
    double = classifier_of("cnn")
    single = replace(double, model=copy.deepcopy(double.model).float(), label_names=("positive", "negative"))
    save_classifier(single, tmp_path / "run")
    texts, labels = world.texts(40, length=9)
    lines = [f"{text},{('positive', 'negative')[label]}" for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["review,verdict", *lines]))
    out = tmp_path / "rows.jsonl"
    invoke(tmp_path / "run", "--method", "greedy", "--split", "all", "--limit", "40", "--out", str(out))
    own = dict(zip(texts, labels, strict=True))
    assert {(row.original, row.label) for row in read_rows(out)} == set(own.items())
    (tmp_path / "data.csv").write_text("\n".join(["review,verdict", *lines]).replace("negative", "neutral"))
    with pytest.raises(SgbtError, match="neutral"):
        invoke(tmp_path / "run", "--method", "greedy")
