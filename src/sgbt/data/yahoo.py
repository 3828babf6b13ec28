"""Yahoo! Answers topics, in each layout in which it is published."""

from __future__ import annotations

from pathlib import Path

from sgbt.data.labelled import LabelledTexts, labelled_texts
from sgbt.data.tables import Table, read_table
from sgbt.resources import Located

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
    table = read_table(path, names=("class", "title", "content", "answer"))
    return _named(table, ("title", "content", "answer"), [int(number) - 1 for number in table.column("class")])


def _from_parquet(path: Path) -> LabelledTexts:
    table = read_table(path)
    return _named(table, ("question_title", "question_content", "best_answer"), table.column("topic"))


def _from_jsonl(path: Path) -> LabelledTexts:
    table = read_table(path)
    return _named(table, ("text",), table.column("label"))


def _named(table: Table, parts: tuple[str, ...], numbers: list[int]) -> LabelledTexts:
    columns = [table.column(part) for part in parts]
    texts = [" ".join(piece.replace("\\n", " ") for piece in row if piece) for row in zip(*columns, strict=True)]
    named = Table(table.source, {"text": texts, "label": [LABELS[number] for number in numbers]}, table.lines)
    return labelled_texts(named, text=None, label=None, drop_empty=True)


def _joined(parts: map[LabelledTexts]) -> LabelledTexts:
    pieces = list(parts)
    return LabelledTexts(
        tuple(text for piece in pieces for text in piece.texts),
        tuple(label for piece in pieces for label in piece.labels),
    )
