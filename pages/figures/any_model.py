"""Models that are not sgbt's own (results/any-model): proofs in one table, smoothing in another, a guard in a third."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import Row, percent, rows

NAMES = {
    "logistic": "TF-IDF (1-2-grams) and logistic regression",
    "logistic-binary": "binary TF-IDF (1-2-grams) and logistic regression",
    "naive-bayes": "counts (1-2-grams) and naive Bayes",
    "vader": "VADER, as it is",
    "transformer": "transformer of two layers, trained on encoded text",
    "safer": "substitution (SAFER-style)",
    "deletion": "deletion, 0.9",
}


def _row(model: str) -> Row:
    (found,) = [row for row in _rows() if row["model"] == model]
    return found


COUNTER_FITTED = ("counter_fitted", "counter-fitted (Jia et al. 2019), nearest 8")
"""What rows call the table of all of them, by name or as it calls itself."""


def _rows() -> list[Row]:
    return [row for row in rows("any-model/rows") if row.get("threat", COUNTER_FITTED[0]) in COUNTER_FITTED]


@figure
def any_model_proofs() -> list[list[str]]:
    """One line for each model with proofs."""
    return [
        [
            NAMES[row["model"]],
            f"{row['texts']:,}",
            percent(row["clean_before"]) if "clean_before" in row else "–",
            percent(row["clean"]),
            percent(row["certified"]),
            percent(row["broken"]),
            percent(row["abstained"]),
            f"{row['queries'] / row['texts']:,.1f}",
            f"{row['cpu_ms']:,.1f}",
        ]
        for row in _rows()
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
        for row in _rows()
        if "statistical" in row
    ]


@figure
def any_model_queries(model: str) -> str:
    """MODEL: questions asked about a text, on average."""
    row = _row(model)
    return f"{row['queries'] / row['texts']:,.1f}"


@figure
def any_model_cheaper(smoothed: str, proven: str) -> str:
    """SMOOTHED PROVEN: how many times as many questions about a text the first model is asked."""
    first, second = (row["queries"] / row["texts"] for row in map(_row, (smoothed, proven)))
    return f"{first / second:,.0f}"


@figure
def any_model_guard() -> list[list[str]]:
    """One line for each probability from which on the guard answers."""
    return [
        [
            f"{row['sure']:g}",
            percent(row["by_proof"]),
            percent(row["accuracy_by_proof"]),
            percent(row["accuracy_behind"]),
            percent(row["accuracy"]),
            percent(row["accuracy_without_guard"]),
        ]
        for row in rows("any-model/guard")
    ]


@figure
def any_model_guarded(name: str) -> str:
    """NAME: a field of the guard's rows that is the same in all, as texts, guard_cpu_ms or behind_cpu_ms."""
    value = rows("any-model/guard")[0][name]
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
