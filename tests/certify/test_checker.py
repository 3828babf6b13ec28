"""The independent checker: it agrees with `certify` on every kind of model, finds what is forged, and runs alone."""

from __future__ import annotations

import ast
import json
import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.soundness.worlds import KINDS, classifier_of, text_of

from sgbt.certify import certify, checker
from sgbt.certify.checker import Checker
from sgbt.models import TextClassifier, save_classifier

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
                    fault, margin = own.check(row.to_row(), texts[row.index])
                    assert not fault, (row, fault)
                    if row.tier != tier or math.isnan(margin):
                        continue
                    compared += 1
                    if any(name in kind for name in TIGHTER) and (budget is not None or "maps" in kind):
                        assert margin >= row.margin - 1e-9
                    else:
                        assert margin == pytest.approx(row.margin, rel=0, abs=1e-9), row
    assert compared > 5


FORGERIES = {
    "margin": lambda row: row | {"margin": row["margin"] + 1e-3},
    "another model": lambda row: row | {"model_hash": "id1-" + 64 * "0"},
    "another table": lambda row: row | {"table_hash": 64 * "0"},
    "another text": lambda row: row | {"text_hash": 16 * "0"},
    "does not say": lambda row: row | {"predicted": 1 - row["predicted"], "label": 1 - row["label"]},
    "not certified": lambda row: row | {"verdict": "certified", "margin": -1.0},
}


@pytest.mark.parametrize("said", FORGERIES)
def test_a_forged_row_is_found(said: str, tmp_path: Path) -> None:
    classifier, texts, own = world("cnn mean tanh", 3, tmp_path)
    rows = certify(classifier, texts, tiers=("ibp",))
    for row in rows[1:]:
        fault, _ = own.check(FORGERIES[said](row.to_row()), texts[row.index])
        assert said in fault


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
    assert f"{len(texts)} rows" in found.stdout
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    rows[-1]["margin"] += 1.0
    (tmp_path / "forged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("forged.jsonl")
    assert found.returncode == 1
    assert f"row {rows[-1]['index']} is not true" in found.stderr
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
