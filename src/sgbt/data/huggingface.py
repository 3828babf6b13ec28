"""Datasets of the Hugging Face `datasets` library, taken by their shape so that the library is never imported here."""

from __future__ import annotations

from typing import Any

from sgbt.core.errors import DataError
from sgbt.data.labelled import LabelledTexts, labelled_texts
from sgbt.data.tables import Table


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
