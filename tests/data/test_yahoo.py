from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from sgbt.core.errors import DataError
from sgbt.data import TextDataset, load_dataset
from sgbt.data.published import YAHOO_LABELS as LABELS

TITLES = [(number % 10, f"why {number}?", f"tell me\\nmore {number}", f"because, {number}") for number in range(60)]


def csv_layout(home: Path, rows: list[tuple[object, str, str, str]]) -> None:
    folder = home / "yahoo_answers_csv"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train", "test"):
        lines = [",".join('"' + str(cell).replace('"', '""') + '"' for cell in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def parquet_layout(home: Path, rows: list[tuple[int, str, str, str]]) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = home / "yahoo_answers_topics"
    folder.mkdir(parents=True)
    for name, part in (
        ("train-00000-of-00002", rows[:30]),
        ("train-00001-of-00002", rows[30:]),
        ("test-00000-of-00001", rows),
    ):
        topics, titles, contents, answers = zip(*part, strict=True)
        columns = {
            "id": list(range(len(part))),
            "topic": topics,
            "question_title": titles,
            "question_content": contents,
            "best_answer": answers,
        }
        parquet.write_table(pyarrow.table(columns), folder / f"{name}.parquet")


def jsonl_layout(home: Path, rows: list[tuple[object, object]]) -> None:
    folder = home / "yahoo"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classes.json").write_text(json.dumps(LABELS))
    for name in ("train10k", "test10k"):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as stream:
            stream.writelines(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows)


def check(dataset: TextDataset) -> None:
    assert dataset.label_names == LABELS
    assert dataset.test.texts[:2] == ("why 0? tell me more 0 because, 0", "why 1? tell me more 1 because, 1")
    assert dataset.test.labels.tolist() == [number % 10 for number in range(60)]
    assert len(dataset.train) + len(dataset.dev) == 60
    assert not set(dataset.train.texts) & set(dataset.dev.texts)


def test_csv(tmp_path: Path) -> None:
    csv_layout(tmp_path, [(label + 1, *rest) for label, *rest in TITLES])
    check(load_dataset("yahoo_answers", data_home=tmp_path))


def test_the_csv_archive_in_the_data_home(tmp_path: Path) -> None:
    csv_layout(tmp_path / "elsewhere", [(label + 1, *rest) for label, *rest in TITLES])
    with tarfile.open(tmp_path / "yahoo_answers_csv.tgz", "w:gz") as tarball:
        for path in (tmp_path / "elsewhere" / "yahoo_answers_csv").iterdir():
            entry = tarfile.TarInfo(f"yahoo_answers_csv/{path.name}")
            entry.size = path.stat().st_size
            tarball.addfile(entry, io.BytesIO(path.read_bytes()))
    check(load_dataset("yahoo_answers", data_home=tmp_path))


def test_parquet(tmp_path: Path) -> None:
    parquet_layout(tmp_path, TITLES)
    check(load_dataset("yahoo_answers", data_home=tmp_path))


def test_jsonl(tmp_path: Path) -> None:
    jsonl_layout(tmp_path, [(label, " ".join(parts)) for label, *parts in TITLES])
    check(load_dataset("yahoo_answers", data_home=tmp_path))


def test_a_question_without_content_is_read_and_one_without_any_text_is_left_out(tmp_path: Path) -> None:
    csv_layout(tmp_path, [(1, "title", "", "answer"), (2, "", "", ""), (3, "only a title", "", "")] * 10)
    dataset = load_dataset("yahoo_answers", data_home=tmp_path)
    assert set(dataset.test.texts) == {"title answer", "only a title"}


@pytest.mark.parametrize("number", ["0", "11", "-1", "x", ""])
def test_a_class_that_does_not_exist_in_csv(tmp_path: Path, number: str) -> None:
    csv_layout(tmp_path, [(1, "a", "b", "c"), (number, "a", "b", "c")])
    with pytest.raises(DataError) as caught:
        load_dataset("yahoo_answers", data_home=tmp_path)
    assert str(caught.value) == (
        f"expected a class from 1 to 10, got {number!r} in line 2 of {tmp_path}/yahoo_answers_csv/train.csv."
    )


@pytest.mark.parametrize("number", [-1, 10, "3", None, 1.5])
def test_a_class_that_does_not_exist_in_jsonl(tmp_path: Path, number: object) -> None:
    jsonl_layout(tmp_path, [(0, "a"), (number, "b")])
    with pytest.raises(DataError) as caught:
        load_dataset("yahoo_answers", data_home=tmp_path)
    assert str(caught.value) == (
        f"expected a class from 0 to 9, got {number!r} in line 2 of {tmp_path}/yahoo/train10k.jsonl.gz."
    )


def test_a_text_that_is_none(tmp_path: Path) -> None:
    jsonl_layout(tmp_path, [(0, "a"), (1, 7)])
    with pytest.raises(DataError, match=r"^expected a text, got 7 in line 2 of "):
        load_dataset("yahoo_answers", data_home=tmp_path)


def test_the_subset_kept_beside_the_checkout(shared_data: Path) -> None:
    dataset = load_dataset("yahoo_answers", data_home=shared_data)
    assert len(dataset.train) + len(dataset.dev) == len(dataset.test) == 10_000
    assert Counter(dataset.test.labels.tolist()) == dict.fromkeys(range(10), 1000)
    assert json.loads((shared_data / "yahoo" / "classes.json").read_text()) == list(LABELS)
