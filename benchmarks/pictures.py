"""The pictures of the documents, from the rows in results/; the same rows give the same bytes.

python benchmarks/pictures.py
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import readme_pictures

from sgbt.core.files import atomic_write
from sgbt.evaluate import read_records
from sgbt.report import charts
from sgbt.report.build import report_of_folder
from sgbt.report.charts import picture
from sgbt.report.drawn import penalties, trade_off
from sgbt.report.methods import methods_of

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
    "idea.svg": readme_pictures.idea,
    "methods.svg": readme_pictures.methods,
    "table1.svg": table_1,
    "budgets.svg": budgets,
    "weights-cnn.svg": partial(weights, "imdb, cnn", "robust, of all texts"),
    "weights-bilstm.svg": partial(weights, "yahoo_answers, bilstm", "beta 0.1"),
}


REPORTED = ROOT / "results" / "imdb-linear" / "records.jsonl"


def photograph() -> bytes:
    """The top of the report of `REPORTED`, as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        page = report_of_folder(REPORTED.parent).save(Path(folder) / "report.html")
        shot = Path(folder) / "report.png"
        size = ["--window-size=1240,1330", "--hide-scrollbars", f"--screenshot={shot}"]
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *size, page.as_uri()],
            check=True,
            capture_output=True,
        )
        return with_note(shot.read_bytes(), hashlib.sha256(REPORTED.read_bytes()).hexdigest())


def with_note(png: bytes, note: str) -> bytes:
    """A PNG with a comment, right after its header (8 bytes of signature and 25 of the first chunk)."""
    body = b"tEXtrows\0" + note.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:33] + chunk + png[33:]


def main() -> None:
    """Write every picture."""
    assets = ROOT / "docs" / "assets"
    for name, drawn in PICTURES.items():
        with atomic_write(assets / name) as stream:
            stream.write(picture(drawn()).encode())
    with atomic_write(assets / "report.png") as stream:
        stream.write(photograph())


if __name__ == "__main__":
    main()
