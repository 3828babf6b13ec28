"""The pictures of the documents, from the rows in results/; the same rows give the same bytes.

python benchmarks/pictures.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sgbt.evaluate import read_records
from sgbt.files import atomic_write
from sgbt.report import charts
from sgbt.report.drawn import penalties, trade_off
from sgbt.report.methods import methods_of
from sgbt.report.picture import picture

ROOT = Path(__file__).parents[1]
BUDGETS = (0, 1, 2, 4, 8, 16, 32, 64, -1)


def table_1() -> str:
    """Accuracy against robustness: the methods of Table 1, TextCNN on IMDB."""
    rows = read_records(ROOT / "results" / "table1-small" / "records.jsonl")
    methods = methods_of([row for row in rows if (row.dataset, row.model) == ("imdb", "cnn")])
    (chart,) = trade_off(methods).charts
    return chart.svg


def budgets() -> str:
    """Certified accuracy by the number of words that may be replaced: four TextCNNs."""
    lines = (ROOT / "results" / "certificates" / "cnn.jsonl").read_text(encoding="utf-8").splitlines()
    curves = {row["run"]: row["by_budget"] for line in lines if "by_budget" in (row := json.loads(line))}
    series = {
        run: [(float(place), curve[str(budget)]) for place, budget in enumerate(BUDGETS)]
        for run, curve in curves.items()
    }
    ticks = [*map(str, BUDGETS[:-1]), "any"]
    return charts.lines("certified by budget", series, "words replaced at most", "certified accuracy", ticks=ticks)


def weights(dataset: str, told: str) -> str:
    """Accuracy under PWWS by beta and gamma: the chart of that study whose title has these words."""
    rows = read_records(ROOT / "results" / "hyperparameters-small" / "records.jsonl")
    (chart,) = [
        chart
        for chart in penalties(methods_of(rows)).charts
        if chart.title.startswith(dataset) and chart.title.endswith(told)
    ]
    return chart.svg


PICTURES: dict[str, Callable[[], str]] = {
    "table1.svg": table_1,
    "budgets.svg": budgets,
    "weights-cnn.svg": partial(weights, "imdb, cnn", "robust, of all texts"),
    "weights-bilstm.svg": partial(weights, "yahoo_answers, bilstm", "beta 0.1"),
}


def main() -> None:
    """Write every picture."""
    for name, drawn in PICTURES.items():
        with atomic_write(ROOT / "docs" / "assets" / name) as stream:
            stream.write(picture(drawn()).encode())


if __name__ == "__main__":
    main()
