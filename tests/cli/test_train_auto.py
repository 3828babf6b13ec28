"""`sgbt train FILE` as it is by default: chosen, told in three lines, kept, and read by the other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import small
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.models import load_classifier


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of reviews, of which one label is rare, and a table."""
    monkeypatch.chdir(tmp_path)
    small.TABLE.to_json("synonyms.json")
    data = small.dataset(train=200)
    named = [(text, ("bad", "good")[label]) for text, label in zip(data.train.texts, data.train.labels, strict=True)]
    rows = [row for row in named if row[1] == "good"] + [row for row in named if row[1] == "bad"][:20]
    Path("reviews.csv").write_text("\n".join(["text,label", *(f"{text},{label}" for text, label in rows)]) + "\n")


def run(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_choice_is_told_in_three_lines_and_every_command_reads_it() -> None:
    told = run("train", "reviews.csv", "--substitutions", "synonyms.json", "--out", "run", "--test")
    lines = told.splitlines()
    assert len(lines) < 20
    for beginning in ("model: n-grams over", "settings: n-grams of up to 4 words", "probabilities: temperature"):
        assert len([line for line in lines if line.startswith(beginning)]) == 1
    assert "classes are unbalanced" in told
    assert "certified" in told
    assert "clean accuracy on test" in told
    assert "normalisation" not in told
    note = json.loads(Path("run/config.json").read_text())["training"]
    assert note["auto"]["reasons"][0] in told
    assert load_classifier("run").label_names == ("bad", "good")
    assert "certified" in run("certify", "run", "--out", "proofs.jsonl")
    assert "certified" in run("verify", "proofs.jsonl", "--model", "run")
    run("attack", "run", "--method", "greedy", "--limit", "5")
    run("report", "run", "--out", "page.html")
    Path("new.txt").write_text("a good film\n")
    assert "good" in run("predict", "run", "new.txt", "--certify")


def test_an_option_of_networks_means_a_network() -> None:
    vectors = small.vectors()
    rows = (" ".join([word, *(f"{x:.5f}" for x in vectors.vector(word))]) for word in vectors.words)
    Path("vectors.txt").write_text("\n".join(rows) + "\n")
    given = ("--vectors", "vectors.txt", "--epochs", "1", "--substitutions", "synonyms.json")
    told = run("train", "reviews.csv", *given, "--objective", "sgbt", "--out", "run")
    assert "cnn with objective sgbt\n" in told
    assert "classes are unbalanced" in told
    linear = run("train", "reviews.csv", "--model", "grams", "--substitutions", "synonyms.json", "--out", "grams")
    assert "grams with objective certified\n" in linear
