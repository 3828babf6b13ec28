"""`sgbt encode` and `sgbt certify --callable`."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from tests.cli.walked import run
from tests.small import TABLE

from sgbt.certify import read_rows
from sgbt.certify.black_box import EditedEncoder, EncodedCertificate, read_encoder

ROWS = [("A GOOD film", "pos"), ("an awful film", "neg"), ("great plot", "pos"), ("a bad movie", "neg")]
MODEL = """
import numpy as np

def scores(texts):
    good = [("good" in text) + ("great" in text) for text in texts]
    return np.array([[0.5, float(each)] for each in good])

scores.fingerprint = "a rule"
number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TABLE.to_json("table.json")
    Path("reviews.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    Path("my_rules.py").write_text(MODEL)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_rules", raising=False)
    return tmp_path


def test_texts_are_encoded_and_a_function_is_certified(folder, capsys):
    made = ["--threat", "table.json", "--encoder", "encoder.json"]
    assert run("encode", "reviews.csv", *made, "--out", "encoded.csv") == 0
    encoder = read_encoder("encoder.json")
    with Path("encoded.csv").open() as stream:
        encoded = list(csv.DictReader(stream))
    assert [row["text"] for row in encoded] == [encoder.encode(text) for text, _ in ROWS]
    assert [row["label"] for row in encoded] == [label for _, label in ROWS]
    asked = ["certify", "reviews.csv", "--callable", "my_rules:scores", "--encoder", "encoder.json"]
    assert run(*asked, "--dry-run") == 0
    assert "4 texts: at most" in capsys.readouterr().out
    assert run(*asked, "--out", "rows.jsonl") == 0
    rows = read_rows("rows.jsonl", EncodedCertificate)
    assert [row.label for row in rows] == [1, 0, 1, 0]
    assert {row.model_hash for row in rows} == {"a rule"}
    assert "certified" in capsys.readouterr().out


def test_an_encoder_of_typing_errors_says_what_it_knows(folder, capsys):
    Path("reviews.csv").write_text("text,label\n" + "a splendid film,pos\nan awful movie,neg\n" * 20)
    assert run("encode", "reviews.csv", "--threat", "typos:1", "--out", "encoded.csv") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "threat typos:1; 6 known words, all others read as unk; 3 known where misspelt once" in said


CALLED = ["--callable", "my_rules:scores", "--encoder", "encoder.json"]


def test_rows_of_a_function_are_proven_again(folder, capsys):
    assert run("encode", "reviews.csv", "--threat", "table.json", "--encoder", "encoder.json", "--out", "e.csv") == 0
    assert run("certify", "reviews.csv", *CALLED, "--out", "rows.jsonl") == 0
    capsys.readouterr()
    assert run("verify", "rows.jsonl", *CALLED, "--data", "reviews.csv") == 0
    said = capsys.readouterr().out
    assert "model, encoder, table, text, label: as the rows say, 4 of 4 rows" in said
    assert "proven again: 4 of 4 rows; none claims too much" in said
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    certified = next(row for row in rows if row["verdict"] == "certified")
    for change, fault in (
        ({"margin": 9.0}, "margin 9"),
        ({"words": 4}, "words 4"),
        ({"model_hash": "b"}, "the model b"),
    ):
        forged = [row | change if row is certified else row for row in rows]
        Path("forged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in forged))
        assert run("verify", "forged.jsonl", *CALLED, "--data", "reviews.csv") == 1
        said = capsys.readouterr().err
        assert fault in said
        assert f"text {certified['index']}," in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "expected --model, or --callable with --encoder, got neither"),
        (["--model", "run", *CALLED], "got both"),
        (CALLED[:2], "an encoder"),
        (CALLED, "expected the texts of the rows, got none"),
        ([*CALLED, "--data", "reviews.csv", "--attacks", "attacks.jsonl"], "attacks.jsonl"),
    ],
)
def test_what_rows_of_a_function_cannot_be_verified_with_is_one_sentence(folder, capsys, arguments, sentence):
    assert run("encode", "reviews.csv", "--threat", "table.json", "--encoder", "encoder.json", "--out", "e.csv") == 0
    assert run("certify", "reviews.csv", *CALLED, "--out", "rows.jsonl") == 0
    capsys.readouterr()
    assert run("verify", "rows.jsonl", *arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["certify", "reviews.csv", "--callable", "my_rules:scores"], "an encoder that the function's model"),
        (["encode", "nothing.csv", "--threat", "table.json"], "got nothing in nothing.csv"),
        (["encode", "reviews.csv", "--threat", "counterfit"], "did you mean counter_fit?"),
        (["encode", "reviews.csv", "--threat", "table.json", "--encoder", "reviews.csv"], "sgbt encode"),
        (["encode", "reviews.csv", "--threat", "table.json", "--label", "stars"], "a column named 'stars'"),
    ],
)
def test_wrong_input_is_one_sentence(folder, capsys, arguments, sentence):
    assert run(*arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["my_rules:nothing", "no_module:scores", "my_rules:number", ":"])
def test_what_is_no_function_is_refused(folder, capsys, name):
    assert run("encode", "reviews.csv", "--threat", "table.json", "--encoder", "e.json", "--out", "e.csv") == 0
    capsys.readouterr()
    assert run("certify", "reviews.csv", "--callable", name, "--encoder", "e.json") == 2
    assert "--callable" in capsys.readouterr().err


def test_an_encoder_of_typing_errors_and_a_trade(folder, capsys):
    made = ["--threat", "table.json + typos:1", "--label", "label", "--trade", "0.5", "--encoder", "e.json"]
    assert run("encode", "reviews.csv", *made, "--out", "encoded.csv") == 0
    assert isinstance(read_encoder("e.json"), EditedEncoder)
    assert "a proxy has" in capsys.readouterr().err
    assert run("certify", "reviews.csv", "--callable", "my_rules:scores", "--encoder", "e.json", "--dry-run") == 0
    for wrong in (["--trade", "0.1"], ["--trade", "2", "--label", "label"]):
        assert run("encode", "reviews.csv", "--threat", "table.json", *wrong) == 2
        assert "trade" in capsys.readouterr().err
