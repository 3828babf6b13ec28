"""What a person sees of texts with nothing to replace, and of a model that has one answer for everything."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.constant import constant
from tests.report.records import record
from tests.soundness.trained import WORDS, dataset, table, trained, written
from typer.testing import CliRunner

from sgbt.attacks import attack
from sgbt.certify import explain, read_rows
from sgbt.cli import explain_view
from sgbt.cli.app import app
from sgbt.cli.attack_view import show_summary
from sgbt.cli.bench_view import show_outcome
from sgbt.cli.certify_view import MOST, show_classes
from sgbt.cli.screen import Screen
from sgbt.core.shares import ByClass
from sgbt.data import load_dataset
from sgbt.evaluate import Outcome
from sgbt.models import save_classifier

FIXED = f"{WORDS['filler'][2]} {WORDS['filler'][3]}"


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled texts, two of which have nothing to replace."""
    first = dataset().label_names[0]
    return written(tmp_path_factory.mktemp("data") / "reviews.csv", more=[(FIXED, first), (FIXED + " zzz", first)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, own = tmp_path_factory.mktemp("runs"), trained("cnn", "ibp", "mean")
    made = {"firm": own, "good": constant(own, 0)}
    return {name: save_classifier(each, folder / name) for name, each in made.items()}


def sgbt(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def printed(show: object, *given: object) -> str:
    stream = io.StringIO()
    show(*given, Screen(file=stream, width=160))  # type: ignore[operator]
    return stream.getvalue()


def test_certify_counts_them_apart_and_shows_every_class(runs: dict[str, Path], reviews: Path, tmp_path: Path) -> None:
    told = sgbt("certify", runs["good"], "--data", reviews, "--split", "train", "--out", tmp_path / "rows.jsonl")
    proofs = read_rows(tmp_path / "rows.jsonl")
    vacuous = sum(proof.verdict == "nothing-to-replace" for proof in proofs)
    assert vacuous > 0
    line = next(line for line in told.splitlines() if line.startswith("right with nothing to replace, of all texts"))
    assert line.split()[-2:] == [str(vacuous), str(len(proofs))]
    assert f"the model answers 'good' for all {len(proofs)} texts" in told
    bad = sum(proof.label == 1 for proof in proofs)
    assert f"0.0%, 0 of {bad}" in next(line for line in told.splitlines() if line.startswith("bad"))


def test_a_model_that_tells_classes_apart_is_not_warned_about(runs: dict[str, Path], reviews: Path) -> None:
    told = sgbt("certify", runs["firm"], "--data", reviews, "--split", "train")
    assert "warning" not in told
    assert {"good", "bad"} <= {line.split()[0] for line in told.splitlines() if line.strip()}


def test_attack_names_a_model_with_one_answer() -> None:
    own, names = trained("cnn", "ibp", "mean"), dataset().label_names
    for classifier, warned in ((constant(own, 0), True), (own, False)):
        results = [
            result
            for method in ("greedy", "pwws")
            for result in attack(classifier, dataset().test[:30], table(), method=method)
        ]
        told = printed(show_summary, results, names)
        assert ("the model answers 'good' for all 30 texts" in told) == warned
        assert any(line.split()[:1] == ["bad"] for line in told.splitlines())


def test_train_names_a_model_with_one_answer(tmp_path: Path) -> None:
    rows = [f"word{number} the film,{'good' if number % 4 else 'bad'}" for number in range(400)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "table.json").write_text('{"film": ["movie"]}')
    options = ("--model", "linear", "--objective", "standard", "--substitutions", tmp_path / "table.json")
    told = sgbt("train", tmp_path / "reviews.csv", "--out", tmp_path / "run", *options, "--epochs", 1, "--test")
    assert told.count("warning: the model answers 'good' for all") == 2  # on dev, and on test
    kept = json.loads((tmp_path / "run" / "test.json").read_text())
    assert ByClass.from_json(kept["by_class"]).warning
    assert sum(each["right"] for each in kept["by_class"]["classes"]) == kept["clean_right"]


def test_train_says_how_many_texts_of_dev_have_nothing_to_replace(tmp_path: Path) -> None:
    rows = [
        f"{'good' if number % 2 else 'bad'} film{number} {'plot' * (number % 4 == 0)},{number % 2}"
        for number in range(400)
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "table.json").write_text('{"good": ["great"], "plot": ["story"]}')
    options = ("--model", "linear", "--objective", "certified", "--substitutions", tmp_path / "table.json")
    told = sgbt("train", tmp_path / "reviews.csv", "--out", tmp_path / "run", *options, "--epochs", 2)
    dev = load_dataset(str(tmp_path / "reviews.csv")).dev
    fixed = sum(text.startswith("bad") and "plot" not in text for text in dev.texts)
    assert 0 < fixed < len(dev)
    assert f"{fixed} of the {len(dev)} texts of dev have nothing to replace" in told
    assert "warning" not in told


@pytest.mark.parametrize(
    ("text", "options", "said", "unsaid"),
    [
        ("zzz qqq", {}, ["nothing to replace", "2 of 2 words unknown"], ["certified", "radius"]),
        (FIXED, {}, ["nothing to replace", "has a substitute"], ["unknown"]),
        ("", {}, ["nothing to replace", "no words"], ["certified", "unknown"]),
        (WORDS["good"][0], {"max_substitutions": 0}, ["nothing to replace", "may be replaced"], ["certified"]),
        (f"{WORDS['good'][0]} zzz", {}, ["1 of 2 words unknown"], ["nothing to replace"]),
    ],
)
def test_explain_says_what_there_was_to_prove(
    text: str, options: dict[str, int], said: list[str], unsaid: list[str]
) -> None:
    classifier = trained("cnn", "ibp", "mean")
    told = printed(explain_view.show, explain(classifier, text, table(), **options), classifier)  # type: ignore[arg-type]
    for words in said:
        assert words in told
    for words in unsaid:
        assert words not in told


def test_a_benchmark_names_runs_with_one_answer() -> None:
    own = record()
    answers = ByClass.of(("no", "yes"), [(0, 1)] * 30 + [(1, 1)] * 30).to_json()
    always = record(label="ibp")
    always.metrics["by_class"] = answers  # type: ignore[index]
    stream = io.StringIO()
    show_outcome(Outcome([own, always], [], {}), Path("out"), Screen(file=stream, width=160))
    (warned,) = (line for line in stream.getvalue().splitlines() if line.startswith("warning"))
    assert always.name in warned
    assert "'yes' for all 60 texts" in warned


def test_of_very_many_classes_the_largest_are_shown() -> None:
    pairs = [(number, number) for number in range(50) for _ in range(number + 1)]
    told = printed(show_classes, ByClass.of([f"class{number}" for number in range(50)], pairs))
    assert told.count("class") == MOST + 2  # the column's title, and the line about the others
    assert "class49" in told
    assert f"{50 - MOST} classes with fewer texts" in told
