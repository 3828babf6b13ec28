from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sgbt.core.errors import DataError
from sgbt.data import Split, TextDataset, load_dataset
from sgbt.data.dataset import Duplicates, Example, count_duplicates
from sgbt.data.labelled import names_of


def write(path: Path, rows: list[tuple[str, object]]) -> Path:
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
    return path


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """300 texts with 100 "neg" and 200 "pos", of which 30 texts stand there twice."""
    rows = [(f"text {number}", "neg" if number % 3 == 0 else "pos") for number in range(270)]
    rows += rows[:30]
    return write(tmp_path / "reviews.jsonl", rows)


class TestLabels:
    def test_integers_are_ordered_by_number(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", [(f"text {n}", [10, 9, -1][n % 3]) for n in range(30)])
        assert load_dataset(path).label_names == ("-1", "9", "10")

    def test_strings_are_ordered_by_letter(self, reviews: Path) -> None:
        dataset = load_dataset(reviews)
        assert dataset.label_names == ("neg", "pos")
        assert dataset.classes == 2
        texts = {text: label for split in dataset.splits for text, label in zip(split.texts, split.labels, strict=True)}
        assert (texts["text 0"], texts["text 1"]) == (0, 1)

    @pytest.mark.parametrize(
        "labels", [("--1", "2"), ("²", "1"), ("01", "1"), ("+1", "1"), ("٣", "1"), ("", "1"), ("-", "1")]
    )
    def test_strange_numbers_have_one_order(self, labels: tuple[str, ...]) -> None:
        assert names_of(labels) == names_of(labels[::-1])
        assert set(names_of(labels)) == set(labels)

    def test_truth_values(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", [(f"text {n}", n % 2 == 0) for n in range(30)])
        assert load_dataset(path).label_names == ("False", "True")

    def test_an_unknown_label_in_a_separate_test_file(self, tmp_path: Path, reviews: Path) -> None:
        test = write(tmp_path / "test.jsonl", [("fine", "pos"), ("fair", "neutral")])
        with pytest.raises(DataError) as caught:
            load_dataset(reviews, test=test)
        assert str(caught.value) == (
            f"expected one of the labels of the training data ('neg', 'pos'), got 'neutral' in {test}; "
            "correct the label, or add such texts to the training data."
        )


class TestSplits:
    def test_they_are_distinct_and_whole(self, reviews: Path) -> None:
        dataset = load_dataset(reviews)
        train, dev, test = (set(split.texts) for split in dataset.splits)
        assert not train & dev
        assert not train & test
        assert not dev & test
        assert sum(map(len, dataset.splits)) == 300
        assert train | dev | test == {f"text {number}" for number in range(270)}

    def test_they_are_stratified(self, reviews: Path) -> None:
        dataset = load_dataset(reviews, test=0.3, dev=0.2)
        assert Counter(dataset.test.labels.tolist()) == {0: 30, 1: 60}
        assert Counter(dataset.dev.labels.tolist()) == {0: 14, 1: 28}

    def test_copies_stay_together(self, reviews: Path) -> None:
        for seed in range(5):
            dataset = load_dataset(reviews, seed=seed)
            for number in range(30):
                assert sorted(split.texts.count(f"text {number}") for split in dataset.splits) == [0, 0, 2]
            assert dataset.duplicates.shared == 0
            assert dataset.duplicates.within_train + dataset.duplicates.within_test == 30

    def test_a_seed_gives_the_same_dataset_again(self, reviews: Path) -> None:
        hashes = [load_dataset(reviews, seed=seed).hash for seed in (0, 0, 1)]
        assert hashes[0] == hashes[1] != hashes[2]

    def test_dev_does_not_move_test(self, reviews: Path) -> None:
        assert load_dataset(reviews, dev=0.1).test.hash == load_dataset(reviews, dev=0.3).test.hash

    def test_no_dev_and_no_test(self, reviews: Path) -> None:
        dataset = load_dataset(reviews, dev=0, test=0)
        assert list(map(len, dataset.splits)) == [300, 0, 0]

    def test_a_separate_test_file_is_the_test_split(self, tmp_path: Path, reviews: Path) -> None:
        test = write(tmp_path / "test.jsonl", [("fine", "pos"), ("text 0", "neg"), ("text 0", "neg")])
        dataset = load_dataset(reviews, test=str(test))
        assert dataset.test.texts == ("fine", "text 0", "text 0")
        assert dataset.duplicates == Duplicates(within_train=30, within_test=1, shared=2)
        dropped = load_dataset(reviews, test=test, drop_shared=True)
        assert "text 0" not in dropped.train.texts + dropped.dev.texts
        assert len(dropped.train) + len(dropped.dev) == 298
        assert dropped.test.hash == dataset.test.hash
        assert dropped.duplicates == dataset.duplicates

    def test_a_test_file_below_the_home_folder(
        self, tmp_path: Path, reviews: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "test.jsonl", [("fine", "pos")])
        monkeypatch.setenv("HOME", str(tmp_path))
        assert load_dataset("~/reviews.jsonl", test="~/test.jsonl").test.texts == ("fine",)

    @pytest.mark.parametrize("share", [1.0, 1, -0.1, -1, 2.5, float("nan")])
    @pytest.mark.parametrize("name", ["dev", "test"])
    def test_a_share_that_cannot_be(self, reviews: Path, name: str, share: float) -> None:
        with pytest.raises(DataError, match=rf"^expected a {name} share from 0 to below 1, got {share}\.$"):
            load_dataset(reviews, **{name: share})  # type: ignore[arg-type]

    def test_a_test_file_beside_a_dataset_that_has_its_own(self, reviews: Path) -> None:
        with pytest.raises(DataError, match=r"^expected a share for test beside imdb, got the file .*reviews\.jsonl;"):
            load_dataset("imdb", test=reviews)

    def test_empty_texts_are_left_out_when_asked(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", [(f"t {n}" if n % 5 else " ", n % 2) for n in range(30)])
        dataset = load_dataset(path, drop_empty=True)
        assert sum(map(len, dataset.splits)) == 24


class TestValues:
    split = Split("test", ("a", "b", "c"), np.array([0, 1, 0]))

    def test_a_split_is_a_sequence_of_examples(self) -> None:
        assert len(self.split) == 3
        assert self.split[1] == Example("b", 1)
        assert [example.label for example in self.split] == [0, 1, 0]
        assert self.split[1:].texts == ("b", "c")
        assert self.split[1:].labels.tolist() == [1, 0]
        assert self.split.take([2, 0]).texts == ("c", "a")
        assert self.split.take([]).texts == ()

    def test_labels_and_texts_go_together(self) -> None:
        with pytest.raises(DataError, match=r"^expected one label for each text, got 2 texts and 1 labels in test\.$"):
            Split("test", ("a", "b"), np.array([1]))

    def test_a_dataset_has_something_to_learn_from(self) -> None:
        empty = Split("train", (), np.zeros(0, dtype=int))
        with pytest.raises(DataError, match=r"^expected texts to train on, got none in x\.$"):
            TextDataset("x", ("a", "b"), empty, empty, empty)
        with pytest.raises(DataError, match=r"^expected at least two different labels, got only none in x"):
            TextDataset("x", (), self.split, empty, empty)

    @pytest.mark.parametrize(
        "other",
        [
            Split("test", ("a", "b", "d"), np.array([0, 1, 0])),
            Split("test", ("a", "b", "c"), np.array([0, 1, 1])),
            Split("test", ("a", "c", "b"), np.array([0, 0, 1])),
            Split("test", ("a\x001\tb", "c"), np.array([0, 0])),
        ],
    )
    def test_a_hash_is_of_texts_labels_and_order(self, other: Split) -> None:
        assert other.hash != self.split.hash
        assert Split("dev", self.split.texts, self.split.labels).hash == self.split.hash

    def test_a_hash_of_strange_texts_and_names(self) -> None:
        split = Split("train", ("\ud83d", "\x00"), np.array([0, 1]))
        one = TextDataset("x", ("a\x00b", "\ud83d"), split, split, split)
        other = TextDataset("x", ("a", "b\x00\ud83d"), split, split, split)
        assert one.hash != other.hash

    def test_duplicates(self) -> None:
        counted = count_duplicates(("a", "a", "b", "c"), ("a", "d", "d", "a"))
        assert counted == Duplicates(within_train=1, within_test=2, shared=2)
        assert str(counted) == "1 repeated in train, 2 in test, 2 of test also in train"

    def test_tokenised(self) -> None:
        assert self.split.tokenised().words(2) == ("c",)
