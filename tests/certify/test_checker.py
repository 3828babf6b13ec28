"""The independent checker: it agrees with `certify` on every kind of model, finds what is forged, and runs alone."""

from __future__ import annotations

import ast
import json
import math
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from tests.soundness.worlds import KINDS, classifier_of, text_of

from sgbt.certify import Verdict, certify, checker
from sgbt.certify.checker import Checker
from sgbt.core.registry import MODELS
from sgbt.models import (
    AnyModel,
    BagOfNgrams,
    BagOfWords,
    BiLSTM,
    Network,
    Sum,
    TextClassifier,
    TextCNN,
    bilstm,
    cnn,
    save_classifier,
)
from sgbt.models.bag_of_words.features import FAMILIES
from sgbt.models.blueprint import parts_of
from sgbt.models.cnn import ACTIVATIONS

TIGHTER = ("linear", "grams")
"""Within a budget the checker counts all words of these one by one, where `certify` bounds some together."""


def world(kind: str, seed: int, folder: Path) -> tuple[TextClassifier, list[str], Checker]:
    """A classifier in a folder, and texts of several lengths."""
    classifier, drawn = classifier_of(kind, seed), random.Random(seed)
    lengths = (0, 2, 5, 9)
    texts = [text_of(drawn, length, table=classifier.table, replaceable=0.5) for length in lengths]
    save_classifier(classifier, folder)
    return classifier, texts, Checker(folder, None)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_the_same_to_1e_9(kind: str, tmp_path: Path) -> None:
    compared = 0
    for seed in (3, 5):
        classifier, texts, own = world(kind, seed, tmp_path / str(seed))
        for tier in ("ibp", "exact"):
            for budget in (None, 1, 5):
                for row in certify(classifier, texts, tiers=(tier,), max_substitutions=budget):
                    fault, skipped, margin = own.check(row.to_row(), texts[row.index])
                    assert not fault, (row, fault)
                    if row.tier != tier or math.isnan(margin):
                        continue
                    assert not skipped
                    compared += 1
                    if any(name in kind for name in TIGHTER) and (budget is not None or "maps" in kind):
                        assert margin >= row.margin - 1e-9
                    else:
                        assert margin == pytest.approx(row.margin, rel=0, abs=1e-9), row
    assert compared > 5


def test_every_kind_of_model_pooling_activation_and_option_is_compared() -> None:
    """What is registered, against what `KINDS` makes: a kind that is added and not compared fails here."""
    made = [part for kind in KINDS for seed in (3, 5) for part in (classifier_of(kind, seed).model,)]
    parts = [part for model in made for part in parts_of(model)]
    registered = {each.kind for union in get_args(AnyModel) for each in (get_args(union) or (union,))}
    assert registered == {*MODELS} | {Sum.kind}
    assert {model.kind for model in made} == {*MODELS} | {"two-channel", "sum"}
    networks = [part for part in parts if isinstance(part, Network)]
    for net, poolings in (("cnn", cnn.POOLINGS), ("bilstm", bilstm.POOLINGS)):
        own = [part for part in networks if part.kind == net]
        assert {part.config.pooling for part in own} == {*poolings}
        assert {part.config.projection is None for part in own} == {True, False}
        assert {part.embedding.codes is None for part in own} == {True, False}
    compared = {(part.config.activation, part.config.pooling) for part in networks if isinstance(part, TextCNN)}
    assert compared >= {(activation, pooling) for activation in ACTIVATIONS for pooling in cnn.POOLINGS}
    linear = [part for part in parts if isinstance(part, BagOfWords)]
    assert {name for part in linear for name in part.config.features} == {*FAMILIES}
    assert {part.config.places for part in linear} == {True, False}
    grams = [part for part in parts if isinstance(part, BagOfNgrams)]
    assert {len(part.maps) > 1 for part in grams} == {part.config.ending > 0 for part in grams} == {True, False}
    assert {type(model.parts[1]) for model in made if isinstance(model, Sum)} == {
        TextCNN,
        BagOfWords,
        BagOfNgrams,
        BiLSTM,
    }


FORGERIES = {
    "recomputed": lambda row: row | {"margin": row["margin"] + 1e-3},
    "another model": lambda row: row | {"model_hash": "id1-" + 64 * "0"},
    "another table": lambda row: row | {"table_hash": 64 * "0"},
    "another text": lambda row: row | {"text_hash": 16 * "0"},
    "does not say": lambda row: row | {"predicted": 1 - row["predicted"], "label": 1 - row["label"]},
    "not certified": lambda row: row | {"verdict": "certified", "margin": -1.0},
    "nothing-to-replace, not": lambda row: row | {"verdict": "nothing-to-replace"},
    "radius": lambda row: row | {"radius": row["replaceable"] + 1},
    "slack": lambda row: row | {"slack": -1.0, "verdict": "certified"},
    "margin nan": lambda row: row | {"margin": math.nan, "verdict": "abstained"},
}


@pytest.mark.parametrize("said", FORGERIES)
def test_a_forged_row_is_found(said: str, tmp_path: Path) -> None:
    classifier, texts, own = world("cnn mean tanh", 3, tmp_path)
    rows = certify(classifier, texts, tiers=("ibp",))
    assert len(rows[1:]) > 2
    for row in rows[1:]:
        assert said in own.check(FORGERIES[said](row.to_row()), texts[row.index])[0]


ODD = {
    "a study of scale 0.5": {"scale": 0.5},
    "limits that there are": {"max_substitutions": -1},
    "classes and limits": {"label": -1},
    "and limits": {"predicted": 2, "label": 2},
    "that there are": {"radius": -3},
    "classes": {"label": True},
}


@pytest.mark.parametrize("said", ODD)
def test_a_row_that_is_no_proof_about_texts_is_refused(said: str, tmp_path: Path) -> None:
    classifier, texts, own = world("cnn mean tanh", 3, tmp_path)
    row = certify(classifier, texts, tiers=("ibp",))[-1].to_row()
    with pytest.raises(ValueError, match=said):
        own.check(row | ODD[said], texts[row["index"]])


@pytest.mark.parametrize("kind", ["cnn max tanh", "bilstm mean", "linear features", "grams", "two cnn codes"])
def test_of_each_row_it_is_said_what_was_looked_at(kind: str, tmp_path: Path) -> None:
    said: Counter[str] = Counter()
    for seed in (3, 6, 9):
        classifier, texts, own = world(kind, seed, tmp_path / str(seed))
        labels = [number % 2 for number in range(len(texts))]
        for tiers, budget, given in (
            (("ibp",), None, None),
            (("ibp", "crown"), None, None),
            (("crown",), 2, None),
            (("ibp",), 0, None),
            (("ibp",), None, labels),
        ):
            for row in certify(classifier, texts, tiers=tiers, max_substitutions=budget, labels=given):
                found = own.check(row.to_row(), texts[row.index])
                assert not found[0]
                said[found[1] or row.tier] += 1
                if row.tier in ("crown", "head"):
                    assert found[1] == f"tier {row.tier}"
                elif row.radius is None or row.certified:
                    assert not found[1]
                if row.tier == "clean":  # misclassified, or nothing may be replaced: the text's own margin
                    forged = row.to_row() | {"margin": row.margin + 1.0}
                    assert "margin" in own.check(forged, texts[row.index])[0]
    assert said["clean"] > 3
    assert said["ibp"] + said["tier crown"] > 3


def plain_words(seed: int, folder: Path) -> tuple[TextClassifier, list[str], Checker]:
    """A bag of words that all have one code: what words add up to is exact within any budget."""
    classifier, texts, _ = world("linear places", seed, folder)
    assert isinstance(classifier.model, BagOfWords)
    classifier.model.codes[1:] = 1
    save_classifier(classifier, folder)
    return classifier, texts, Checker(folder, None)


def test_a_bag_of_words_is_the_same_within_every_budget(tmp_path: Path) -> None:
    compared = 0
    for seed in (3, 4, 5):
        classifier, texts, own = plain_words(seed, tmp_path / str(seed))
        for budget in (None, 0, 1, 2, 3):
            for row in certify(classifier, texts, tiers=("ibp",), max_substitutions=budget):
                found = own.check(row.to_row(), texts[row.index])
                assert not found[0] + found[1]
                assert found[2] == pytest.approx(row.margin, rel=0, abs=1e-9)
                compared += row.tier == "ibp"
    assert compared > 20


def test_the_radius_of_an_undecided_text_is_recomputed(tmp_path: Path) -> None:
    """A bag of words knows how many may be replaced; one more than it says is one too many."""
    looked_at = 0
    for seed in range(3, 30, 3):
        classifier, texts, own = plain_words(seed, tmp_path / str(seed))
        for row in certify(classifier, texts, tiers=("ibp",)):
            found = own.check(row.to_row(), texts[row.index])
            assert not found[0]
            if row.verdict is Verdict.ABSTAINED and row.radius is not None:
                looked_at += 1
                assert not found[1]
                more = row.to_row() | {"radius": row.radius + 1}
                assert "radius" in own.check(more, texts[row.index])[0]
                other = own.check(more | {"tiers": ["ibp", "crown"]}, texts[row.index])
                assert other[:2] == ("", f"radius {row.radius + 1}")
    assert looked_at > 3  # several texts hold for some swaps and not for all


def test_it_runs_alone_and_its_exit_code_says_what_it_found(tmp_path: Path) -> None:
    classifier, texts, _ = world("cnn max tanh", 3, tmp_path / "model")
    certify(classifier, texts, tiers=("ibp",), out=tmp_path / "rows.jsonl")
    lines = [json.dumps({"index": index, "text": text}) for index, text in enumerate(texts)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    shutil.copy(checker.__file__, tmp_path / "alone.py")

    def run(rows: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "alone.py", rows, "--model", "model", "--texts", "texts.jsonl"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    found = run("rows.jsonl")
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[:2] == ["row 0: checked", "row 1: checked"]
    assert f"{len(texts)} rows, {len(texts)} checked, 0 not" in found.stdout
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    rows[-1]["margin"] += 1.0
    (tmp_path / "forged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("forged.jsonl")
    assert found.returncode == 1
    assert f"row {rows[-1]['index']} is not true" in found.stderr
    for row in rows:
        row |= {"tier": "crown", "margin": min(row["margin"], 0.0), "verdict": "abstained", "radius": None}
    (tmp_path / "others.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[2:]))
    found = run("others.jsonl")
    assert found.returncode == 3
    assert "row 2: not this checker's business: tier crown" in found.stdout
    assert f"{len(rows) - 2} rows, 0 checked, {len(rows) - 2} not" in found.stdout
    (tmp_path / "study.jsonl").write_text(json.dumps(rows[2] | {"scale": 0.5}) + "\n")
    found = run("study.jsonl")
    assert found.returncode == 2
    assert "a study of scale 0.5" in found.stderr
    found = run("missing.jsonl")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


def test_it_imports_numpy_alone_and_is_short() -> None:
    source = Path(checker.__file__).read_text()
    assert len(source.splitlines()) < 300
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).split(".")[0])
    assert {name for name in imported if name not in sys.stdlib_module_names} == {"numpy"}


def test_a_table_with_a_key_twice_and_a_negative_weight_are_refused(tmp_path: Path) -> None:
    """Of a key that stands twice a reader keeps either value; a lower bound times a negative weight is none."""
    world("sum cnn grams linear", 3, tmp_path)
    table = tmp_path / "twice.json"
    table.write_text('{"ba": ["bo"], "ba": ["do"]}')
    with pytest.raises(ValueError, match="each key once"):
        Checker(tmp_path, table)
    config = json.loads((tmp_path / "config.json").read_text())
    config["model"]["weights"][-1] = -0.5
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="weights of at least 0"):
        Checker(tmp_path, None)


def test_a_budget_of_a_million_million_words_is_one_of_any(tmp_path: Path) -> None:
    """What is kept for each number of replacements is bounded by the text, not by what the row says."""
    classifier, texts, own = plain_words(3, tmp_path)
    for row in certify(classifier, texts, tiers=("ibp",)):
        assert own.check(row.to_row() | {"max_substitutions": 10**12}, texts[row.index])[0] == ""
