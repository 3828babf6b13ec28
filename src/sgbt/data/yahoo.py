"""Yahoo! Answers topics, in each layout in which it is published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgbt.core.errors import DataError
from sgbt.data.labelled import LabelledTexts, labelled_texts
from sgbt.data.table_files import FileLayout, read_table
from sgbt.data.tables import Table
from sgbt.resources import Located

LAYOUT = FileLayout("utf-8", "comma")
LABELS = (
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
    classes = {str(number): name for number, name in enumerate(LABELS, start=1)}
    return _named(table, ("title", "content", "answer"), "class", classes)


def _from_parquet(path: Path) -> LabelledTexts:
    parts = ("question_title", "question_content", "best_answer")
    return _named(read_table(path, LAYOUT), parts, "topic", dict(enumerate(LABELS)))


def _from_jsonl(path: Path) -> LabelledTexts:
    return _named(read_table(path, LAYOUT), ("text",), "label", dict(enumerate(LABELS)))


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
