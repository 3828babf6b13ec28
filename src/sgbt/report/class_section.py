"""What each model does with each class, where its records say so."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.core.shares import Share
from sgbt.report.document import Figure, Section, Table
from sgbt.report.methods import NONE, MethodRuns, by_model, share_figure

COLUMNS = ("method", "class", "texts", "right", "right among its answers", "certified")
NOTE = (
    "Of the first seed, in percent: of the texts of each class, those that are classified correctly and those that are "
    "certified; and of the texts that the model gives the class, those that have it."
)


def classes(methods: Sequence[MethodRuns]) -> Section:
    """One table for each dataset, model and substitution table, with a row for each method and class."""
    tables = []
    for (dataset, model, substitutions), group in by_model(methods).items():
        own = [(method, found) for method in group if (found := method.first.by_class)]
        rows = [
            (
                Figure(method.label),
                Figure(each.name),
                Figure(f"{each.recall.total:,}"),
                _figure(each.recall),
                _figure(each.precision),
                _figure(each.certified),
            )
            for method, found in own
            for each in found.classes
        ]
        if rows:
            commands = tuple(method.command for method, found in own for _ in found.classes)
            title = f"{dataset}, {model}, substitutions {substitutions}"
            tables.append(Table(title, COLUMNS, tuple(rows), commands=commands))
    return Section("Class by class", NOTE, tuple(tables), folded=True)


def _figure(share: Share | None) -> Figure:
    return share_figure([share]) if share is not None and share.total else NONE
