"""A run remembers how its data was read, and the commands after it speak of the same texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import small
from tests.cli.walked import run as sgbt

from sgbt.certify import read_rows
from sgbt.cli.reading import Reading
from sgbt.core.errors import DataError

OPTIONS = ["--model", "linear", "--objective", "standard", "--substitutions", "synonyms.json", "--epochs", "1"]


@pytest.fixture(autouse=True)
def world(private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small.TABLE.to_json("synonyms.json")
    data = small.dataset(train=60, test=30)
    for name, split in (("first.csv", data.train), ("second.csv", data.test)):
        rows = [f"{each.text},{('bad', 'good')[each.label]}" for each in split]
        Path(name).write_text("\n".join(["body,kind", *rows]))
    return tmp_path


def test_columns_and_test_file_need_not_be_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ["--text", "body", "--label", "kind"]
    assert sgbt("train", "first.csv", *columns, "--test-file", "second.csv", *OPTIONS, "--out", "run") == 0
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # paths are kept in full
    assert sgbt("certify", "../run", "--out", "rows.jsonl") == 0
    assert len(read_rows("rows.jsonl")) == 30
    assert sgbt("attack", "../run", "--method", "greedy", "--out", "attacks.jsonl") == 0
    assert len(Path("attacks.jsonl").read_text().splitlines()) == 30


def test_without_a_test_file_a_fifth_is_test_and_never_trained_on() -> None:
    reading = Reading("first.csv", "body", "kind")
    dataset = reading.load(data_home=None)
    assert len(dataset.test) == 12
    Path("run").mkdir()
    reading.keep(Path("run"), dataset)
    assert Reading().for_run(Path("run"), data_home=None).hash == dataset.hash


def test_drop_shared_takes_out_of_train_what_test_has() -> None:
    Path("second.csv").write_text(Path("first.csv").read_text())
    reading = Reading("first.csv", "body", "kind", "second.csv", drop_shared=True)
    with pytest.raises(DataError, match="texts to train on"):
        reading.load(data_home=None)


def test_a_file_that_changed_is_refused_unless_named() -> None:
    reading = Reading("first.csv", "body", "kind")
    Path("run").mkdir()
    reading.keep(Path("run"), reading.load(data_home=None))
    lines = Path("first.csv").read_text().splitlines()
    Path("first.csv").write_text("\n".join(lines[:40]))
    with pytest.raises(DataError, match="has changed since"):
        Reading().for_run(Path("run"), data_home=None)
    assert len(Reading("first.csv", "body", "kind").for_run(Path("run"), data_home=None).test)


def test_a_run_from_before_names_its_dataset_in_its_note() -> None:
    Path("run").mkdir()
    Path("run/config.json").write_text(json.dumps({"training": {"dataset": "first.csv"}}))
    dataset = Reading(text="body", label="kind").for_run(Path("run"), data_home=None)
    assert dataset.name == "first.csv"
    Path("run/config.json").write_text("{}")
    with pytest.raises(DataError, match="pass --data"):
        Reading().for_run(Path("run"), data_home=None)


def test_yahoo_is_yahoo_answers() -> None:
    with pytest.raises(DataError, match="beside yahoo_answers"):
        Reading("yahoo", test_file="second.csv").load(data_home=None)


@pytest.mark.parametrize("separate", [False, True])
def test_a_limit_on_a_file_sorted_by_label_leaves_no_label_out(separate: bool) -> None:
    for name, count in (("first.csv", 60), ("second.csv", 30)):
        data = sorted(small.dataset(train=count, seed=count).train, key=lambda each: each.label)
        rows = [f"{each.text},{('bad', 'good')[each.label]}" for each in data]
        Path(name).write_text("\n".join(["text,label", *rows]))
    options = [*OPTIONS, *(["--test-file", "second.csv"] if separate else [])]
    limited = ["train", "first.csv", *options, "--limit", "6", "--out"]
    assert sgbt(*limited, "run") == sgbt(*limited, "again") == 0
    kept = [Path(run, "vocabulary.json").read_bytes() for run in ("run", "again")]
    assert kept[0] == kept[1]
    for words in (small.GOOD, small.BAD):
        assert any(f'"{word}"'.encode() in kept[0] for word in words)
    assert sgbt("certify", "run", "--limit", "6", "--out", "rows.jsonl") == 0
    assert sorted(row.label for row in read_rows("rows.jsonl")) == [0, 0, 0, 1, 1, 1]
    assert sgbt("attack", "run", "--limit", "4", "--method", "greedy", "--out", "attacks.jsonl") == 0
    attacked = {json.loads(line)["index"]: json.loads(line) for line in Path("attacks.jsonl").read_text().splitlines()}
    assert sorted(row["label"] for row in attacked.values()) == [0, 0, 1, 1]
    dataset = Reading().for_run(Path("run"), data_home=None)
    assert [attacked[index]["original"] for index in range(4)] == list(dataset.test.texts[:4])
