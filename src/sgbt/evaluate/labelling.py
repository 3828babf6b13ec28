"""What is added to the rows of a table of texts: a label for each, and a certificate where one is asked for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sgbt.certify import Prepared, certify
from sgbt.certify.rows.summary import PREDICTED, PROVEN, predicted_cells, proven_cells
from sgbt.core.errors import DataError
from sgbt.data.row_writers import writing
from sgbt.data.shards import Shard
from sgbt.data.table_files import FileLayout
from sgbt.data.tables import Table
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable

Columns = dict[str, list[Any]]
NUMBERS: dict[str, type[int] | type[float]] = {
    "probability": float, "margin": float, "radius": int, "replaceable": int, "unknown": int
}  # fmt: skip
"""The columns that are numbers in formats that know numbers."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """How rows are labelled; with a `table` (who may replace whom), each has a certificate too.

    `column` is where the texts stand, by name or position, and `budget` how many words are replaced at most.
    """

    classifier: TextClassifier
    table: SubstitutionTable | None = None
    column: str | None = None
    budget: int | None = None

    @cached_property
    def prepared(self) -> Prepared | None:
        """What certificates need, made once; it stays in the process that made it."""
        return None if self.table is None else Prepared.of(self.classifier, self.table)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "prepared"}

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are."""
        return [self.classifier.identity, self.table.hash if self.table else None, self.column, self.budget]

    @staticmethod
    def ending(form: str) -> str:
        """How the name of a file of rows ends, for shards of a format."""
        return "jsonl" if form == "text" else form

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        """Write the rows of a shard, all or none, and say what is counted in them."""
        found: Counter[str] = Counter()
        with writing(part, otherwise="jsonl") as write:
            for rows in shard.tables(layout):
                columns = self.of(rows)
                write(columns)
                found.update(self.counts(columns))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are added."""
        return PREDICTED if self.table is None else PREDICTED + PROVEN

    def of(self, rows: Table) -> Columns:
        """The columns of the rows, and those that are added to them."""
        if taken := [name for name in self.names if name in rows.columns]:
            raise DataError(
                expected="a file without the columns that are added",
                got=repr(taken[0]),
                where=rows.source,
                remedy="rename it",
            )
        texts = rows.texts(self.column)
        answers = self.classifier.predict(texts)
        largest = answers.probabilities.max(axis=1).tolist()
        cells: list[tuple[str, ...]] = [predicted_cells(*each) for each in zip(answers.labels, largest, strict=True)]
        if self.prepared is not None:
            proofs = certify(self.prepared, texts, max_substitutions=self.budget)
            cells = [(*own, *proven_cells(proof)) for own, proof in zip(cells, proofs, strict=True)]
        added = {name: [row[place] for row in cells] for place, name in enumerate(self.names)}
        numbers = {name: [_number(cell, NUMBERS[name]) for cell in added[name]] for name in added if name in NUMBERS}
        return {**rows.columns, **added, **numbers}

    @staticmethod
    def counts(columns: Columns) -> Counter[str]:
        """How often each label, and each verdict, stands in rows that were labelled."""
        return Counter(columns["predicted"] + columns.get("verdict", []))


def _number(cell: str, kind: type[int] | type[float]) -> float | None:
    """The number in a cell; nothing where there is none, or none that JSON has."""
    return kind(cell) if cell and math.isfinite(float(cell)) else None
