"""`sgbt certify` and `sgbt explain`, run as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli import walked
from tests.soundness.trained import dataset, trained, written

from sgbt.certify import read_rows
from sgbt.models import save_classifier


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    return save_classifier(trained("cnn", "ibp", "mean"), folder / "model")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("data") / "reviews.csv", ("review", "stars"))


def sgbt(*arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from sgbt.cli import main; main()"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_certify_prints_figures_with_their_denominators_and_keeps_rows(
    run: Path, reviews: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    options = (
        "certify",
        run,
        "--data",
        reviews,
        "--text",
        "review",
        "--label",
        "stars",
        "--split",
        "train",
        "--out",
        out,
    )
    told = sgbt(*options)
    assert told.returncode == 0, told.stderr
    rows = read_rows(out)
    certified = sum(row.certified for row in rows)
    line = next(line for line in told.stdout.splitlines() if line.startswith("certified, of all texts"))
    assert line.split()[-2:] == [str(certified), str(len(rows))]
    assert "robust by oracle" in told.stdout
    assert "slack" in told.stdout
    again = sgbt(*options)
    assert again.stdout == told.stdout
    assert read_rows(out) == rows


def test_explain_marks_words_and_tells_margin_and_radius(run: Path) -> None:
    told = sgbt("explain", run, dataset().test.texts[0])
    assert told.returncode == 0, told.stderr
    assert "radius: safe with up to" in told.stdout or "misclassified" in told.stdout
    assert "margin over" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tiers", "magic"), "tiers among"),
        (("--split", "tets"), "train, dev, test, all"),
        (("--limit", "0"), "greater than or equal to 1"),
        (("--max-substitutions", "-2"), "at least 0"),
        (("--substitutions", "nonsense"), "--substitutions"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(run: Path, reviews: Path, arguments: tuple[str, ...], said: str) -> None:
    told = sgbt("certify", run, "--data", reviews, "--text", "review", "--label", "stars", *arguments)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_a_folder_that_is_not_a_run_is_one_sentence(tmp_path: Path) -> None:
    told = sgbt("certify", tmp_path)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr


def test_certify_against_a_threat(reviews: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import torch

    from sgbt.attacks import read_rows as read_attacks
    from sgbt.certify.edits import ThreatCertificate
    from sgbt.models import BagOfWords, TextClassifier
    from sgbt.threats import Vocabulary

    bag = BagOfWords(features=())
    bag.adopt(codes=torch.arange(4), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        bag.bias[0] = 1.0
        bag.weight[2, 1] = 9.0
    folder = save_classifier(TextClassifier(bag, Vocabulary(("good", "bad")), dataset().label_names), tmp_path / "bag")
    out = tmp_path / "rows.jsonl"
    options = ("certify", folder, "--data", reviews, "--text", "review", "--label", "stars", "--split", "train")
    told = sgbt(*options, "--threat", "typos:1 + delete:1:any", "--out", out)
    assert told.returncode == 0, told.stderr
    assert "threat typos:1 + delete:1:any" in told.stdout
    rows = read_rows(out, ThreatCertificate)
    assert f"{sum(row.stays for row in rows):,}" in told.stdout
    assert {row.threat for row in rows} == {"typos:1 + delete:1:any"}
    _verify_against_a_threat(options, out, len(rows), capfd)
    attacked = sgbt("attack", *options[1:], "--threat", "typos:1", "--out", tmp_path / "attacks.jsonl")
    assert attacked.returncode == 0, attacked.stderr
    assert "threat typos:1" in attacked.stdout
    assert {row.method for row in read_attacks(tmp_path / "attacks.jsonl")} == {"greedy", "beam", "genetic", "charmer"}
    explained = sgbt("explain", folder, "good good bad", "--threat", "delete:1:any")
    assert explained.returncode == 0, explained.stderr
    assert "against delete:1:any; nothing that it allows changes the label" in explained.stdout
    assert "worst version found, read as" in explained.stdout
    assert "(left out)" in explained.stdout
    refused = sgbt(*options, "--threat", "typo:1")
    assert refused.returncode == 2
    assert "did you mean typos" in refused.stderr


def _verify_against_a_threat(
    options: tuple[object, ...], out: Path, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["verify", str(out), "--model", *map(str, options[1:])]
    assert walked.run(*words) == 0
    told = capfd.readouterr().out
    assert f"model, threat, text, label: as the rows say, {count} of {count} rows" in told
    assert f"proven again: {count} of {count} rows; none claims too much" in told
    attacked = out.with_name("attacked.jsonl")
    assert (
        walked.run("attack", *map(str, options[1:]), "--threat", "typos:1 + delete:1:any", "--out", str(attacked)) == 0
    )
    capfd.readouterr()
    assert walked.run(*words, "--attacks", str(attacked)) == 0
    said = capfd.readouterr().out
    assert "none contradicts" in said
    assert "charmer: certified" in said
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    lines[-1]["margin"] += 1e-3
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert walked.run(*words, "--threat", "typos:1 + delete:1:any") == 1
    assert f"a true row for text {lines[-1]['index']}" in capfd.readouterr().err
    assert walked.run(*words, "--threat", "typos:1") == 1
    assert "the threat 'typos:1 + delete:1:any'" in capfd.readouterr().err
    assert walked.run(*words, "--attacks", str(out)) == 2
    assert "one attack result per line" in capfd.readouterr().err
    out.write_text('{"kind": "threat", "ind')
    assert walked.run(*words) == 2
    assert "no whole row" in capfd.readouterr().err
