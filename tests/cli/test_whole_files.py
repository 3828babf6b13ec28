"""certify, attack and verify take every row of a file, labelled or not; report makes a page of what they found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import small
from tests.cli.walked import run as sgbt

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.certify import certify, read_rows
from sgbt.models import load_classifier

NAMES = ("bad", "good")


@pytest.fixture(autouse=True)
def world(private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small.TABLE.to_json("synonyms.json")
    data = small.dataset(train=60, test=20)
    Path("train.csv").write_text(
        "\n".join(["text,label", *(f"{each.text},{NAMES[each.label]}" for each in data.train)])
    )
    Path("new.csv").write_text("\n".join(["id;body", *(f"{n};{each.text}" for n, each in enumerate(data.test))]))
    rows = [f"{each.text}|{NAMES[each.label]}" for each in data.test]
    Path("judged.csv").write_text("\n".join(["text|label", *reversed(rows)]))
    options = ["--model", "linear", "--objective", "standard", "--substitutions", "synonyms.json", "--epochs", "1"]
    assert sgbt("train", "train.csv", *options, "--out", "run") == 0
    return tmp_path


def texts(name: str, column: int, separator: str) -> list[str]:
    return [line.split(separator)[column] for line in Path(name).read_text().splitlines()[1:]]


def in_order(name: str) -> list[AttackResult]:
    return sorted(read_attacks(Path(name)), key=lambda row: row.index)


@pytest.mark.filterwarnings("ignore::sgbt.core.errors.SgbtWarning")
@pytest.mark.parametrize("split", [[], ["--split", "all"]])
def test_a_file_without_labels_is_taken_whole(split: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    reading = ["--data", "new.csv", "--text", "body", *split]
    assert sgbt("certify", "run", *reading, "--out", "rows.jsonl") == 0
    told = capsys.readouterr().out
    assert "20 texts of new.csv (all rows, without labels)" in told
    assert "clean" not in told
    model = load_classifier("run")
    assert read_rows("rows.jsonl") == certify(model, texts("new.csv", 1, ";"), tiers=read_rows("rows.jsonl")[0].tiers)
    assert sgbt("verify", "rows.jsonl", "--model", "run", *reading) == 0
    assert "labels are not known" in capsys.readouterr().out
    assert sgbt("attack", "run", *reading, "--method", "greedy", "--limit", "6", "--out", "attacks.jsonl") == 0
    rows = in_order("attacks.jsonl")
    assert "there are no labels" in capsys.readouterr().out
    assert [row.original for row in rows] == texts("new.csv", 1, ";")[:6]
    assert [row.label for row in rows] == model.predict([row.original for row in rows]).probabilities.argmax(1).tolist()


@pytest.mark.filterwarnings("ignore::sgbt.core.errors.SgbtWarning")
def test_all_rows_come_in_the_order_of_the_file_with_labels_by_the_models_names() -> None:
    assert (
        sgbt("attack", "run", "--data", "judged.csv", "--split", "all", "--method", "greedy", "--out", "a.jsonl") == 0
    )
    assert sgbt("certify", "run", "--data", "judged.csv", "--split", "all", "--out", "c.jsonl") == 0
    names = texts("judged.csv", 1, "|")
    model = load_classifier("run")
    assert [model.label_names[row.label] for row in in_order("a.jsonl")] == names
    assert [model.label_names[row.label] for row in read_rows("c.jsonl")] == names
    reading = ["--data", "judged.csv", "--split", "all"]
    assert sgbt("verify", "c.jsonl", "--model", "run", "--attacks", "a.jsonl", *reading) == 0


@pytest.mark.filterwarnings("ignore::sgbt.core.errors.SgbtWarning")
def test_labels_that_the_model_does_not_know_are_refused_alike(capsys: pytest.CaptureFixture[str]) -> None:
    Path("judged.csv").write_text(Path("judged.csv").read_text().replace("good", "fine"))
    for verb in (["certify", "run"], ["attack", "run", "--method", "greedy"]):
        for split in (["--split", "all"], []):
            assert sgbt(*verb, "--data", "judged.csv", *split) == 2
            assert "expected the model's labels bad, good, got 'fine'" in capsys.readouterr().err


@pytest.mark.filterwarnings("always::sgbt.core.errors.SgbtWarning")
def test_the_old_name_of_the_models_table_is_read_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert sgbt("attack", "run", "--method", "greedy", "--limit", "3", "--substitutions", "run") == 0
    assert capsys.readouterr().err == "sgbt: note: --substitutions run is called model now.\n"


@pytest.mark.parametrize("place", ["run", "."])
def test_the_report_of_a_run_has_its_certificates_and_attacks(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    proven, broken = f"{place}/certificates.jsonl", f"{place}/attacks.jsonl"
    assert sgbt("certify", "run", "--out", proven) == 0
    assert sgbt("attack", "run", "--method", "greedy,pwws", "--out", broken) == 0
    named = [] if place == "run" else ["--certificates", proven, "--attacks", broken]
    capsys.readouterr()
    assert sgbt("report", "run", *named, "--out", "page.html") == 0
    told = capsys.readouterr().out
    assert "1 runs; wrote page.html" in told
    table = Path("page.csv").read_text()
    assert "train.csv" in Path("page.html").read_text()
    assert "greedy" in table
    rows = read_rows(proven)
    assert f",certified,{sum(row.certified for row in rows) / len(rows)}," in table


def test_rows_of_another_model_and_rows_beside_a_benchmark_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert sgbt("certify", "run", "--out", "rows.jsonl") == 0
    lines = [json.loads(line) | {"model_hash": "0" * 64} for line in Path("rows.jsonl").read_text().splitlines()]
    Path("other.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert sgbt("report", "run", "--certificates", "other.jsonl", "--out", "page.html") == 2
    assert "certify and attack this model" in capsys.readouterr().err
    Path("bench").mkdir()
    assert sgbt("report", "bench", "--certificates", "rows.jsonl") == 2
    assert "the folder of a trained model" in capsys.readouterr().err
    assert not Path("page.html").exists()
