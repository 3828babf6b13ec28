"""What the figures of a report are about, by hash, and what a margin had to exceed."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.evaluate.record import RunRecord
from sgbt.report.document import Figure, ReportTable, Section

SHOWN = 12
"""Digits of a hash; rows and model folders have all of them."""
FEW = 8
"""Runs whose hashes are shown at once; those of more unfold."""


def identities(records: Sequence[RunRecord]) -> Section:
    """Every run's model, data and substitutes by their hashes, and the largest rounding slack of its certificates."""
    rows = []
    for record in records:
        slack = record.metrics.get("certified_slack")
        hashes = (record.model_hash.removeprefix("id1-"), record.data_hash, str(record.substitutions.get("hash", "")))
        rows.append(
            (
                Figure(record.name),
                *(Figure(each[:SHOWN] or "-") for each in hashes),
                Figure("-" if slack is None else f"{slack:.1e}"),
            )
        )
    columns = ("run", "model", "data", "substitutes", "rounding slack")
    note = "A certificate counts if its margin exceeds the slack. sgbt verify compares hashes in full."
    table = ReportTable("Hashes", columns, tuple(rows), commands=tuple(record.command for record in records))
    return Section("What the figures are about", note, (table,) if rows else (), folded=len(rows) > FEW)
