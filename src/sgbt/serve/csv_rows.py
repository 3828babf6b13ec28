"""A CSV file in, the same rows with their labels and certificates out."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from sgbt.certify import Prepared, certify
from sgbt.certify.rows.summary import PREDICTED, PROVEN, by_class, predicted_cells, proven_cells
from sgbt.core.by_class import ByClass
from sgbt.core.errors import DataError
from sgbt.data.table_files import read_csv
from sgbt.data.tables import Table, shown

Step = Callable[[dict[str, Any]], None]
UPLOAD = "the uploaded file"
ADDED = (*PREDICTED, *PROVEN)
"""The columns that are added; a file that has one of them already is refused."""
MOST_CLASSES, MOST_LETTERS = 20, 60
"""What is said of classes goes into a header, which has little room."""


def certified_csv(
    prepared: Prepared, content: str, *, text_column: str, label_column: str | None, most: int, step: Step
) -> dict[str, Any]:
    """The file with a certificate in every row, how many of each verdict there are, and what is said of each class.

    Cells come back as they were. With a label column, a text whose label the model misses is `misclassified`;
    without one, the label to defend is the model's own. `step` hears how many rows are done, and may stop the work.
    """
    table = read_csv(content, source=UPLOAD)
    texts = [str(text) for text in _column(table, text_column)]
    _check(table, texts, most)
    names = prepared.classifier.label_names
    labels = None if label_column is None else _numbers(table, _column(table, label_column), names)
    proofs = certify(
        prepared, texts, labels=labels, listener=lambda done, of: step({"kind": "rows", "done": done, "of": of})
    )
    chances = prepared.classifier.predict(texts).probabilities.max(axis=1).tolist()
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow([*table.columns, *ADDED])
    for row, (proof, chance) in enumerate(zip(proofs, chances, strict=True)):
        added = (*predicted_cells(names[proof.predicted], chance), *proven_cells(proof))
        rows.writerow([*(column[row] for column in table.columns.values()), *added])
    verdicts = [str(proof.verdict) for proof in proofs]
    return {
        "csv": out.getvalue(),
        "rows": len(verdicts),
        "verdicts": {v: verdicts.count(v) for v in set(verdicts)},
        "classes": _classes(by_class(proofs, names, labelled=labels is not None)),
    }


def _classes(found: ByClass) -> dict[str, Any]:
    """The classes with the most texts, so few and so short that a header has room for them, and the warning."""
    told = found.to_json()
    largest = sorted(told["classes"], key=lambda each: -each["texts"])[:MOST_CLASSES]
    shown = [{**each, "label": each["label"][:MOST_LETTERS]} for each in told["classes"] if each in largest]
    warning = found.warning if found.warning is None else found.warning[: 2 * MOST_LETTERS]
    return {"labelled": found.labelled, "warning": warning, "classes": shown}


def _column(table: Table, name: str) -> list[Any]:
    if name not in table.columns:
        raise DataError(
            expected=f"a column named {shown([name])}", got=f"the columns {shown(table.columns)}", where=UPLOAD
        )
    return table.columns[name]


def _check(table: Table, texts: Sequence[str], most: int) -> None:
    if len(texts) > most:
        raise DataError(
            expected=f"at most {most:,} rows",
            got=f"{len(texts):,}",
            where=UPLOAD,
            remedy="use: sgbt certify RUN --data FILE",
        )
    if taken := [name for name in ADDED if name in table.columns]:
        raise DataError(
            expected="a file without the columns that are added", got=repr(taken[0]), where=UPLOAD, remedy="rename it"
        )


def _numbers(table: Table, labels: Sequence[Any], names: Sequence[str]) -> list[int]:
    for row, label in enumerate(labels):
        if label not in names:
            raise DataError(
                expected=f"one of the labels {', '.join(names)}", got=repr(label)[:80], where=table.where(row)
            )
    return [names.index(label) for label in labels]
