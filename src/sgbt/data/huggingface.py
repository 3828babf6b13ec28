"""Datasets of the Hugging Face `datasets` library, taken by their shape so that the library is never imported here."""

from __future__ import annotations

from typing import Any

from sgbt.data.labelled import LabelledTexts, labelled_texts, names_of
from sgbt.data.tables import Table
from sgbt.errors import DataError


def is_hugging_face(source: Any) -> bool:
    """Whether `source` is a `Dataset` (columns and features) or a `DatasetDict` (splits of them)."""
    return hasattr(source, "column_names") and hasattr(source, "features" if not isinstance(source, dict) else "keys")


def read_hugging_face(
    source: Any, *, text: str | None, label: str | None, drop_empty: bool
) -> tuple[LabelledTexts, LabelledTexts | None, tuple[str, ...]]:
    """Train, test when there is one, and the label names."""
    splits = dict(source) if isinstance(source, dict) else {"train": source}
    if "train" not in splits:
        raise DataError(wanted="a split named 'train'", got=", ".join(map(repr, splits)), where="the DatasetDict")
    feature = splits["train"].features.get(label or "label")
    class_names = tuple(getattr(feature, "names", None) or ())

    def read(name: str) -> LabelledTexts:
        columns = {column: list(splits[name][column]) for column in splits[name].column_names}
        table = Table(f"the split {name!r}", columns, range(1, len(splits[name]) + 1))
        rows = labelled_texts(table, text=text, label=label, drop_empty=drop_empty)
        if not class_names:
            return rows
        return LabelledTexts(rows.texts, tuple(class_names[int(number)] for number in rows.labels))

    train = read("train")
    test = read("test") if "test" in splits else None
    return train, test, class_names or names_of(train.labels)
