"""Figures of the default command on data that nobody tuned on: results/newcomers."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import percent, rows


@figure
def newcomers() -> list[list[str]]:
    """What `sgbt train FILE` takes and reaches on each data set, beside scikit-learn."""
    return [
        [
            row["data"],
            f"{row['train']:,}",
            f"{row['cpu_seconds']:.0f} s",
            f"{row['megabytes'] / 1000:.1f} GB",
            percent(row["clean"]),
            percent(row["certified"]),
            percent(row["sklearn_clean"]),
        ]
        for row in rows("newcomers/rows")
    ]
