from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sgbt.data import TextDataset, Tokenizer, load_dataset
from sgbt.data import tokenised as tokenised_module
from sgbt.data.dataset import Duplicates
from sgbt.data.published import FILM_BLOCK, film_folds
from sgbt.resources import CATALOGUE

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def home(imdb_cache: Path) -> Path:
    return imdb_cache / "data"


@pytest.fixture(scope="module")
def reviews(imdb_cache: Path) -> TextDataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGBT_CACHE", str(imdb_cache))
        patch.delenv("SGBT_DATA", raising=False)
        return load_dataset("imdb")


def test_the_official_split(reviews: TextDataset) -> None:
    assert reviews.label_names == ("negative", "positive")
    assert Counter(reviews.test.labels.tolist()) == {0: 12_500, 1: 12_500}
    assert reviews.duplicates == Duplicates(within_train=96, within_test=199, shared=123)
    assert 24_900 < len(reviews.train) + len(reviews.dev) <= 25_000


def test_no_break_is_left(reviews: TextDataset) -> None:
    assert not [text for split in reviews.splits for text in split.texts if "<br" in text.lower()]


def test_dev_is_a_stratified_tenth(reviews: TextDataset) -> None:
    for label in (0, 1):
        assert 1_150 <= Counter(reviews.dev.labels.tolist())[label] <= 1_250


def test_train_and_dev_share_no_text(reviews: TextDataset) -> None:
    assert not set(reviews.train.texts) & set(reviews.dev.texts)


def test_train_and_dev_share_no_block_of_neighbouring_ids(reviews: TextDataset, home: Path) -> None:
    with gzip.open(home / "imdb" / "train.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    places: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        places.setdefault(row["text"].replace("<br />", " "), []).append((row["label"], row["id"] // FILM_BLOCK))
    blocks = {
        split.name: {places[text][0] for text in split.texts if len(places[text]) == 1}
        for split in (reviews.train, reviews.dev)
    }
    assert FILM_BLOCK == 250
    assert blocks["dev"]
    assert not blocks["dev"] & blocks["train"]
    assert len(blocks["dev"] | blocks["train"]) == 100


def test_folds_of_films_are_ranges_of_ids_and_hold_every_review_once(reviews: TextDataset, home: Path) -> None:
    with gzip.open(home / "imdb" / "train.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    ids: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        ids.setdefault((row["text"].replace("<br />", " "), row["label"]), set()).add(row["id"])
    held: Counter[str] = Counter()
    for number, fold in enumerate(film_folds(5, data_home=home)):
        assert 19_900 < len(fold.train) <= 20_000
        assert not set(fold.train.texts) & set(fold.dev.texts)
        assert Counter(fold.dev.labels.tolist()) == {0: 2_500, 1: 2_500}
        assert not len(fold.test)
        held.update(fold.dev.texts)
        for example in fold.dev:
            assert any(number * 2_500 <= found < (number + 1) * 2_500 for found in ids[example.text, example.label])
    assert held.total() == 25_000
    assert set(held) == {*reviews.train.texts, *reviews.dev.texts}


def test_a_prefix_is_a_fair_sample(reviews: TextDataset) -> None:
    for split in reviews.splits:
        assert 0.45 < split.labels[:1000].mean() < 0.55


def test_seeds_choose_other_films(reviews: TextDataset, imdb: Path) -> None:
    other = load_dataset("imdb", seed=1)
    assert other.test.hash == reviews.test.hash
    assert set(other.dev.texts) != set(reviews.dev.texts)


def test_shared_texts_are_dropped_from_train_when_asked(reviews: TextDataset, imdb: Path) -> None:
    dropped = load_dataset("imdb", drop_shared=True)
    assert dropped.test.hash == reviews.test.hash
    assert not set(dropped.test.texts) & (set(dropped.train.texts) | set(dropped.dev.texts))
    assert dropped.duplicates == reviews.duplicates


def test_the_order_of_the_files_and_the_ids_of_test_do_not_matter(
    reviews: TextDataset, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "home" / "imdb").mkdir(parents=True)
    for split in ("train", "test"):
        with gzip.open(home / "imdb" / f"{split}.jsonl.gz", "rt", encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        random.Random(0).shuffle(rows)
        if split == "test":
            for row in rows:
                row["id"] = None
        path = tmp_path / "home" / "imdb" / f"{split}.jsonl.gz"
        with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    assert load_dataset("imdb", data_home=tmp_path / "home").hash == reviews.hash


def test_the_second_load_does_not_tokenise(reviews: TextDataset, imdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reviews.dev.tokenised()

    def refuse(*arguments: object) -> None:
        raise AssertionError("tokenised or read for its checksum again")

    monkeypatch.setattr(tokenised_module, "_tokenise", refuse)
    monkeypatch.setattr(Tokenizer, "words", refuse)
    layout = replace(CATALOGUE["imdb"].layouts[0], fingerprint=refuse)
    monkeypatch.setitem(CATALOGUE, "imdb", replace(CATALOGUE["imdb"], layouts=(layout,)))
    again = load_dataset("imdb").dev.tokenised()
    assert again.types == first.types
    assert (again.ids.flat == first.ids.flat).all()
