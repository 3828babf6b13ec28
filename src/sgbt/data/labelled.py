"""From rows of a table to texts with labels: every text a real one, every label a known one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgbt.core.errors import DataError
from sgbt.data.dataset import LONGEST
from sgbt.data.tables import Table
from sgbt.data.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts with their labels as they were written in the source; texts without any have no labels."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


def labelled_texts(
    table: Table, *, text: str | None, label: str | None, drop_empty: bool = False, unlabelled: bool = False
) -> LabelledTexts:
    """The texts and labels of a table; columns named `text` and `label` are taken when none are given.

    With `unlabelled`, a table that has no column `label`, where none was named, gives its texts alone.
    """
    texts = table.column(text or "text")
    bare = unlabelled and label is None and "label" not in table.columns
    labels = ["-"] * len(texts) if bare else [_label_of(each) for each in table.column(label or "label")]
    kept = []
    for row, (each, name) in enumerate(zip(texts, labels, strict=True)):
        if each is not None and not isinstance(each, str):
            raise DataError(expected="a text", got=repr(each)[:40], where=table.where(row))
        if name is None:
            raise DataError(
                expected="a label that is a string or a number",
                got=repr(table.column(label or "label")[row])[:40],
                where=table.where(row),
            )
        if each and each.strip() and name:
            kept.append(row)
        elif not drop_empty:
            raise DataError(
                expected="a text with at least one word" if name else "a label",
                got="an empty one" if name else "none",
                where=table.where(row),
                remedy="fill it in, or have such rows left out with --drop-empty",
            )
    _refuse_endless(table, texts, kept)
    return LabelledTexts(tuple(texts[row] for row in kept), () if bare else tuple(str(labels[row]) for row in kept))


def _label_of(value: Any) -> str | None:
    """A label as it is written, empty where there is none; None is no label."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value) if isinstance(value, str | int | float) else None


def _refuse_endless(table: Table, texts: list[Any], rows: Sequence[int]) -> None:
    tokenizer = Tokenizer()
    for row in rows:
        if len(texts[row]) > LONGEST and (words := len(tokenizer.words(texts[row]))) > LONGEST:
            raise DataError(
                expected=f"texts of at most {LONGEST:,} words",
                got=f"one of {words:,}",
                where=table.where(row),
                remedy="split it into its parts; a missing quote can join rows as well",
            )


def names_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The distinct labels in their order: by number when all are numbers, else by letter."""
    names = set(labels)
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", name) for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def refuse_too_many(names: Sequence[str], labels: Sequence[str], source: str) -> None:
    """A column with nearly as many labels as rows is not a label column."""
    if len(labels) >= 20 and len(names) > len(labels) // 2:
        raise DataError(
            expected="a label column with few different values",
            got=f"{len(names):,} in {len(labels):,} rows",
            where=source,
            remedy="name the label column with --label",
        )


def numbered(labels: Sequence[str], names: Sequence[str], source: str) -> np.ndarray:
    """Each label as its place in `names`; a label that is not among them is refused."""
    places = {name: place for place, name in enumerate(names)}
    if unknown := sorted(set(labels) - set(places)):
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise DataError(
            expected=f"one of the labels of the training data ({shown})",
            got=repr(unknown[0]),
            where=source,
            remedy="correct the label, or add such texts to the training data",
        )
    return np.array([places[label] for label in labels], dtype=np.int64)


def is_hugging_face(source: Any) -> bool:
    """Whether `source` is a `Dataset` (columns and features) or a `DatasetDict` (splits of them)."""
    return hasattr(source, "column_names") and hasattr(source, "features" if not isinstance(source, dict) else "keys")


def read_hugging_face(
    source: Any, *, text: str | None, label: str | None, drop_empty: bool
) -> tuple[LabelledTexts, LabelledTexts | None, tuple[str, ...] | None]:
    """Train, test when there is one, and the label names when the library knows them."""
    splits = dict(source) if isinstance(source, dict) else {"train": source}
    if "train" not in splits:
        raise DataError(expected="a split named 'train'", got=", ".join(map(repr, splits)), where="the DatasetDict")
    label = label or "label"
    feature = splits["train"].features.get(label)
    class_names = tuple(getattr(feature, "names", None) or ())

    def read(name: str) -> LabelledTexts:
        columns = {column: list(splits[name][column]) for column in splits[name].column_names}
        table = Table(f"the split {name!r}", columns, range(1, len(splits[name]) + 1))
        if class_names:
            columns[label] = _named(table, label, class_names)
        return labelled_texts(table, text=text, label=label, drop_empty=drop_empty)

    return read("train"), read("test") if "test" in splits else None, class_names or None


def _named(table: Table, label: str, names: tuple[str, ...]) -> list[str | None]:
    """Numbers of classes as their names. -1, by which the library marks a text without label, is no class."""
    numbers = table.column(label)
    for row, number in enumerate(numbers):
        if number is not None and not 0 <= int(number) < len(names):
            raise DataError(
                expected=f"a label from 0 to {len(names) - 1}",
                got=str(number),
                where=table.where(row),
                remedy="leave out the texts that have no label",
            )
    return [None if number is None else names[int(number)] for number in numbers]
