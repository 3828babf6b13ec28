"""Published datasets: IMDB from its canonical form, and Yahoo! Answers in each of its layouts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.core.documents import json_object
from sgbt.core.errors import DataError
from sgbt.core.unpacking import open_gzip
from sgbt.data.dataset import Split, TextDataset, count_duplicates, cut
from sgbt.data.labelled import LabelledTexts, labelled_texts
from sgbt.data.table_files import FileLayout, read_table
from sgbt.data.tables import Table
from sgbt.resources import Located, Progress, get

IMDB_LABELS = ("negative", "positive")
FILM_BLOCK = 250
"""Ids per block of the dev cut. Neighbouring ids are reviews of one film: a dev set cut in blocks shares few films."""

_BREAK = re.compile(r"<br\s*/?>")


def load_imdb(
    *, dev: float, seed: int, drop_shared: bool, data_home: Path | None, progress: Progress | None
) -> TextDataset:
    """The official split, with dev cut from train in blocks of neighbouring ids.

    Within a split, reviews stand in the order of their content's hash: any prefix is a fair sample of both labels, and
    the same one whoever supplied the data.
    """
    located = get("imdb", data_home=data_home, progress=progress)
    (train_ids, whole), (_, test) = (
        _read(path, name) for path, name in zip(located.paths, ("train", "test"), strict=True)
    )
    duplicates = count_duplicates(whole.texts, test.texts)
    if drop_shared:
        known = set(test.texts)
        rows = [row for row, text in enumerate(whole.texts) if text not in known]
        whole, train_ids = whole.take(rows), train_ids[rows]
    films = [(int(label), int(number) // FILM_BLOCK) for label, number in zip(whole.labels, train_ids, strict=True)]
    parts = cut(whole.labels, dev, seed=seed, groups=films)
    train = whole.take(parts.kept)
    seen = set(train.texts)
    fresh = [row for row in parts.taken if whole.texts[row] not in seen]
    dev_split = Split("dev", tuple(whole.texts[row] for row in fresh), whole.labels[fresh])
    return TextDataset("imdb", IMDB_LABELS, train, dev_split, test, duplicates)


def film_folds(folds: int, *, data_home: Path | None = None) -> Iterator[TextDataset]:
    """The train split cut into so many ranges of ids; each in turn is dev, and the others are train. Test is empty.

    Within a label neighbouring ids are reviews of one film, so the good reviews of a film are nearly always on one
    side, and so are the bad ones; the two may be on different sides, for either label has numbers of its own. Five
    folds have ten times the reviews of the usual dev split, and hardly a border within a film.
    """
    if folds < 2:
        raise DataError(expected="two folds or more", got=str(folds), where="folds of IMDB")
    ids, whole = _read(get("imdb", data_home=data_home).paths[0], "train")
    fold = ids * folds // (int(ids.max()) + 1)
    for number in range(folds):
        taken = np.flatnonzero(fold == number)
        dev = Split("dev", tuple(whole.texts[row] for row in taken), whole.labels[taken])
        held = set(dev.texts)
        train = whole.take([row for row in np.flatnonzero(fold != number).tolist() if whole.texts[row] not in held])
        yield TextDataset(f"imdb, fold {number + 1} of {folds}", IMDB_LABELS, train, dev, whole.take([]))


def _read(path: Path, name: str) -> tuple[np.ndarray, Split]:
    with open_gzip(path, kind=DataError) as stream:
        rows = [json_object(line, kind=DataError, where=str(path)) for line in stream]
    for row in rows:
        row["text"] = _BREAK.sub(" ", row["text"])
        row["id"] = -1 if row.get("id") is None else row["id"]
    rows.sort(key=lambda row: (hashlib.sha256(row["text"].encode()).digest(), row["label"], row["id"]))
    ids = np.array([row["id"] for row in rows])
    labels = np.array([row["label"] for row in rows], dtype=np.int64)
    return ids, Split(name, tuple(row["text"] for row in rows), labels)


LAYOUT = FileLayout("utf-8", "comma")
YAHOO_LABELS = (
    "Society & Culture",
    "Science & Mathematics",
    "Health",
    "Education & Reference",
    "Computers & Internet",
    "Sports",
    "Business & Finance",
    "Entertainment & Music",
    "Family & Relationships",
    "Politics & Government",
)


def read_yahoo(located: Located) -> tuple[LabelledTexts, LabelledTexts]:
    """Train and test, with labels by name."""
    if located.layout == "csv":
        return _from_csv(located.paths[0]), _from_csv(located.paths[1])
    if located.layout == "parquet":
        trains = [path for path in located.paths if path.name.startswith("train")]
        tests = [path for path in located.paths if path.name.startswith("test")]
        return _joined(map(_from_parquet, trains)), _joined(map(_from_parquet, tests))
    return _from_jsonl(located.paths[0]), _from_jsonl(located.paths[1])


def _from_csv(path: Path) -> LabelledTexts:
    table = read_table(path, LAYOUT, names=("class", "title", "content", "answer"))
    classes = {str(number): name for number, name in enumerate(YAHOO_LABELS, start=1)}
    return _named(table, ("title", "content", "answer"), "class", classes)


def _from_parquet(path: Path) -> LabelledTexts:
    parts = ("question_title", "question_content", "best_answer")
    return _named(read_table(path, LAYOUT), parts, "topic", dict(enumerate(YAHOO_LABELS)))


def _from_jsonl(path: Path) -> LabelledTexts:
    return _named(read_table(path, LAYOUT), ("text",), "label", dict(enumerate(YAHOO_LABELS)))


def _named(table: Table, parts: tuple[str, ...], label: str, classes: Mapping[Any, str]) -> LabelledTexts:
    """The parts of each row as one text, and its class by name."""
    columns = [table.column(part) for part in parts]
    texts = [_text_of(row) for row in zip(*columns, strict=True)]
    names = []
    for row, number in enumerate(table.column(label)):
        if not isinstance(number, str | int) or number not in classes:
            first, *_, last = classes
            raise DataError(expected=f"a class from {first} to {last}", got=repr(number), where=table.where(row))
        names.append(classes[number])
    named = Table(table.source, {"text": texts, "label": names}, table.lines)
    return labelled_texts(named, text=None, label=None, drop_empty=True)


def _text_of(pieces: tuple[Any, ...]) -> Any:
    """One text of several; line breaks are written as a backslash and an n. What is no text is refused later."""
    strange = [piece for piece in pieces if piece is not None and not isinstance(piece, str)]
    return strange[0] if strange else " ".join(piece.replace("\\n", " ") for piece in pieces if piece)


def _joined(parts: map[LabelledTexts]) -> LabelledTexts:
    pieces = list(parts)
    return LabelledTexts(
        tuple(text for piece in pieces for text in piece.texts),
        tuple(label for piece in pieces for label in piece.labels),
    )
