"""`sgbt verify` and what `sgbt publish` and `sgbt certify --out` do with forged rows, run as a person runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.walked import run

from sgbt.cli.verify_view import sample_of
from sgbt.core.errors import CertificateError


@pytest.fixture
def rows(world: Path) -> Path:
    """Certificates and attacks of the run, in the folder where commands are given."""
    assert run("certify", "run", "--out", "own.jsonl") == 0
    assert run("attack", "run", "--method", "greedy", "--out", "attacks.jsonl") == 0
    return Path("own.jsonl")


def forged(rows: Path, **changes: Any) -> str:
    """The same rows, of which the last certified one, or the last, says something else."""
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    row = next((row for row in reversed(found) if row["verdict"] == "certified"), found[-1])
    row |= {name: change(row[name]) for name, change in changes.items()}
    Path("forged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    return "forged.jsonl"


def test_it_says_what_was_checked(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    options = ["--model", "run", "--attacks", "attacks.jsonl", "--save-texts", "texts.jsonl"]
    assert run("verify", str(rows), *options) == 0
    told = capfd.readouterr()
    count = len(rows.read_text().splitlines())
    assert f"model, table, text, label: as the rows say, {count} of {count} rows" in told.out
    assert f"proven again: {count} of {count} rows" in told.out
    assert "greedy: certified" in told.out
    assert told.err == ""
    assert run("verify", str(rows), "--model", "run", "--texts", "texts.jsonl", "--sample", "3") == 0
    told = capfd.readouterr().out
    seed = re.search(rf"proven again: 3 of {count} rows, drawn by seed (\d+)", told)
    assert seed
    assert run("verify", str(rows), "--model", "run", "--texts", "texts.jsonl", "--sample", "3", "--seed", seed[1]) == 0
    assert seed[0] in capfd.readouterr().out


def test_studies_are_counted_apart_and_not_published(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from sgbt.certify import certify
    from sgbt.models import load_classifier

    assert run("verify", str(rows), "--model", "run", "--save-texts", "texts.jsonl") == 0
    known = [json.loads(line) for line in Path("texts.jsonl").read_text().splitlines()]
    labels = [row["label"] for row in known]
    certify(load_classifier("run"), [row["text"] for row in known], labels=labels, scale=1e-6, out="study.jsonl")
    capfd.readouterr()
    assert run("verify", "study.jsonl", "--model", "run") == 0
    assert f"note: {len(known)} rows have a scale below 1" in capfd.readouterr().out
    assert run("publish", "run", "--out", "study-cards", "--certificates", "study.jsonl") == 2
    told = capfd.readouterr().err
    assert "scale 1e-06" in told
    assert told.count("\n") == 1
    assert not Path("study-cards").exists()


def test_a_published_sample_names_its_seed(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["publish", "run", "--out", "sampled-cards", "--certificates", str(rows), "--sample", "3"]
    assert run(*words) == 0
    seed = re.search(r"drawn by seed (\d+)", capfd.readouterr().out)
    assert seed
    assert run(*words, "--seed", seed[1]) == 0
    assert seed[0] in capfd.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"margin": lambda margin: margin + 1}, "margin"),
        ({"text_hash": lambda given: given[::-1]}, "another text"),
        ({"model_hash": lambda given: given[:-4] + "0000"}, "the model"),
        ({"table_hash": lambda given: given[::-1]}, "the table"),
    ],
)
def test_a_lie_is_one_sentence_and_exit_code_1(
    rows: Path, capfd: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    name = forged(rows, **changes)
    capfd.readouterr()
    assert run("verify", name, "--model", "run") == 1
    told = capfd.readouterr().err
    assert told.startswith("sgbt: expected a true row for text")
    assert told.count("\n") == 1
    assert said in told


def test_what_cannot_be_used_is_exit_code_2(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("few.jsonl").write_text('{"index": 0, "text": "a film"}\n{"index": 0, "text": "a film"}\n')
    Path("empty.jsonl").write_text("")
    for words in (
        ["nothing.jsonl", "--model", "run"],
        ["empty.jsonl", "--model", "run"],
        [str(rows), "--model", "runs/no"],
        [str(rows), "--model", "run", "--sample", "some"],
        [str(rows), "--model", "run", "--texts", "few.jsonl"],
        [str(rows), "--model", "run", "--texts", "nothing.jsonl"],
        [str(rows), "--model", "run", "--attacks", "nothing.jsonl"],
        [str(rows), "--model", "run", "--split", "no"],
    ):
        capfd.readouterr()
        assert run("verify", *words) == 2, words
        assert capfd.readouterr().err.count("\n") == 1, words


def test_forged_rows_are_neither_published_nor_taken_over(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = forged(rows, margin=lambda margin: margin + 1)
    assert run("publish", "run", "--out", "cards", "--certificates", name) == 2
    assert "a true row" in capfd.readouterr().err
    assert not Path("cards").exists()
    before = Path(name).read_bytes()
    assert run("certify", "run", "--out", name) == 2
    assert Path(name).read_bytes() == before
    assert run("publish", "run", "--out", "cards", "--certificates", str(rows), "--attacks", "attacks.jsonl") == 0
    assert "certified accuracy" in Path("cards/README.md").read_text()


@pytest.mark.parametrize(
    ("given", "meant"), [("all", None), ("100", 100), ("0.1", 0.1), ("10%", 0.1), ("100%", None), ("1", 1)]
)
def test_a_sample_is_all_a_number_or_a_share(given: str, meant: float | None) -> None:
    assert sample_of(given) == meant


@pytest.mark.parametrize("given", ["", "0", "-3", "some", "1.5", "nan", "0%", "inf", "²", "9" * 30])
def test_no_other_word_is_a_sample(given: str) -> None:
    with pytest.raises(CertificateError, match="--sample"):
        sample_of(given)


def test_publish_attacks_again_and_says_by_which_seed(rows: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Rows of attacks are compared with the data also where no certificates are given."""
    capfd.readouterr()
    told, line_of_seed = [], "unbroken texts attacked again: a sample of 2, drawn by seed"
    for number in range(3):
        assert run("publish", "run", "--out", f"cards{number}", "--attacks", "attacks.jsonl", "--sample", "2") == 0
        told += [line for line in capfd.readouterr().out.splitlines() if line.startswith(line_of_seed)]
    assert len(set(told)) > 1
    assert run("publish", "run", "--out", "cards", "--attacks", "attacks.jsonl", "--sample", "2", "--seed", "7") == 0
    assert "drawn by seed 7" in Path("cards/README.md").read_text()
    found = [json.loads(line) for line in Path("attacks.jsonl").read_text().splitlines()]
    for row in found:
        if row["status"] == "success":
            row |= {"status": "failed", "after": row["label"], "swaps": [], "perturbed": row["original"]}
    buried = "".join(json.dumps(row) + "\n" for row in found)
    assert buried != Path("attacks.jsonl").read_text()
    Path("buried.jsonl").write_text(buried)
    capfd.readouterr()
    assert run("publish", "run", "--out", "lies", "--attacks", "buried.jsonl", "--sample", "all") == 2
    assert "the same attack breaks the text" in capfd.readouterr().err
    assert not Path("lies").exists()
