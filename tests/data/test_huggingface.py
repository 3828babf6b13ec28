from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from sgbt.core.errors import DataError
from sgbt.data import load_dataset
from sgbt.data.labelled import is_hugging_face


@dataclass
class ClassLabel:
    names: list[str]


@dataclass
class Dataset:
    """What `datasets.Dataset` looks like from outside: columns by name, and features that may know label names."""

    columns: dict[str, list[Any]]
    features: dict[str, Any] = field(default_factory=dict)

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class DatasetDict(dict[str, Dataset]):
    """What `datasets.DatasetDict` looks like: a dictionary that answers for the columns of its splits."""

    @property
    def column_names(self) -> dict[str, list[str]]:
        return {name: split.column_names for name, split in self.items()}


def split_of(size: int, names: list[str] | None = None, **columns: list[Any]) -> Dataset:
    labels: list[Any] = [number % 2 for number in range(size)]
    given = {"text": [f"text {number}" for number in range(size)], "label": labels} | columns
    return Dataset(given, {"label": ClassLabel(names)} if names else {})


def test_a_dataset_is_cut_in_three() -> None:
    dataset = load_dataset(split_of(100, ["bad", "good"]))
    assert dataset.label_names == ("bad", "good")
    assert list(map(len, dataset.splits)) == [72, 8, 20]
    assert all(example.label == int(example.text.split()[1]) % 2 for split in dataset.splits for example in split)


def test_a_dictionary_brings_its_own_test_split() -> None:
    source = DatasetDict(
        train=split_of(50, ["bad", "good"]), test=split_of(10, ["bad", "good"]), unsupervised=split_of(3)
    )
    dataset = load_dataset(source, dev=0.2)
    assert dataset.test.texts == tuple(f"text {number}" for number in range(10))
    assert len(dataset.train) + len(dataset.dev) == 50


def test_columns_by_other_names_and_labels_without_names() -> None:
    source = Dataset({"review": [f"r {n}" for n in range(40)], "stars": [(1, 5, 10)[n % 3] for n in range(40)]})
    assert load_dataset(source, text="review", label="stars").label_names == ("1", "5", "10")


def test_a_class_that_no_text_has_keeps_its_number() -> None:
    dataset = load_dataset(split_of(40, ["bad", "good", "unused"]))
    assert dataset.label_names == ("bad", "good", "unused")


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_beyond_the_names_is_refused(label: int) -> None:
    """-1 marks a text without label, as public test sets have them."""
    source = DatasetDict(train=split_of(10, ["bad", "good"]), test=split_of(2, ["bad", "good"], label=[0, label]))
    with pytest.raises(DataError, match=rf"^expected a label from 0 to 1, got {label} in line 2 of the split 'test'"):
        load_dataset(source)


def test_a_label_column_that_is_none() -> None:
    source = split_of(40, label=[f"id {number}" for number in range(40)])
    with pytest.raises(DataError, match=r"^expected a label column with few different values, got 40 in 40 rows"):
        load_dataset(source)


def test_no_train_split() -> None:
    with pytest.raises(DataError, match=r"^expected a split named 'train', got 'test' in the DatasetDict\.$"):
        load_dataset(DatasetDict(test=split_of(4)))


def test_a_missing_column() -> None:
    with pytest.raises(
        DataError, match=r"^expected a column named 'texts', .* in the split 'train'; did you mean 'text'\?$"
    ):
        load_dataset(split_of(4), text="texts")


def test_a_test_file_beside_it() -> None:
    with pytest.raises(
        DataError, match=r"^expected a share for test beside a Hugging Face dataset, got the file x\.csv"
    ):
        load_dataset(split_of(4), test="x.csv")


@pytest.mark.parametrize("source", ["imdb", {"train": 1}, [1], None])
def test_other_things_are_not_taken_for_one(source: object) -> None:
    assert not is_hugging_face(source)


def test_the_real_library() -> None:
    datasets = pytest.importorskip("datasets", reason="the Hugging Face library is not installed")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    rows = {"text": [f"text {n}" for n in range(60)], "label": [n % 2 for n in range(60)]}
    whole = datasets.Dataset.from_dict(rows, features=features)
    assert load_dataset(whole).hash == load_dataset(split_of(60, ["bad", "good"])).hash
    both = datasets.DatasetDict(train=whole, test=whole)
    assert len(load_dataset(both).test) == 60
