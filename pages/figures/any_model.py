"""Models that are not sgbt's own (results/any-model): proofs in one table, smoothing in another."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import Row, percent, rows

NAMES = {
    "logistic": "TF-IDF (1-2-grams) and logistic regression",
    "naive-bayes": "counts (1-2-grams) and naive Bayes",
    "vader": "VADER, as it is",
    "safer": "substitution (SAFER-style)",
    "deletion": "deletion, 0.9",
}


def _row(model: str) -> Row:
    (found,) = [row for row in rows("any-model/rows") if row["model"] == model]
    return found


@figure
def any_model_proofs() -> list[list[str]]:
    """One line for each model with proofs."""
    return [
        [
            NAMES[row["model"]],
            f"{row['texts']:,}",
            percent(row["clean_before"]),
            percent(row["clean"]),
            percent(row["certified"]),
            percent(row["broken"]),
            percent(row["abstained"]),
            f"{row['queries'] / row['texts']:,.1f}",
            f"{row['cpu_ms']:,.1f}",
        ]
        for row in rows("any-model/rows")
        if "certified" in row
    ]


@figure
def any_model_smoothing() -> list[list[str]]:
    """One line for each kind of noise."""
    return [
        [
            NAMES[row["model"]],
            f"{row['texts']:,}",
            percent(row["clean"]),
            *(percent(row["by_radius"][radius]) for radius in ("1", "3", "10")),
            percent(row["statistical"]),
            f"{row['samples']:,}",
            f"{row['cpu_ms']:,.0f}",
        ]
        for row in rows("any-model/rows")
        if "statistical" in row
    ]


@figure
def any_model_queries(model: str) -> str:
    """MODEL: questions asked about a text, on average."""
    row = _row(model)
    return f"{row['queries'] / row['texts']:,.1f}"
