"""The reports of results/ follow from committed rows, and rows do not contradict one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgbt.evaluate import read_records
from sgbt.report.build import report_of_folder

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "results").glob("*/records.jsonl"))
OTHER_ROWS = {"grams", "linear-films", "network-films", "linear-frequent", "bilstm-stopped", "scripts"}
"""Trials of scripts in benchmarks/ and of others, and one that was stopped: rows, but no run records."""
TRIALS = sorted(path for path in (ROOT / "results" / "trials").glob("*.jsonl") if path.stem not in OTHER_ROWS)
RECORDS = [*(folder / "records.jsonl" for folder in FOLDERS), *TRIALS]
METRICS = ("clean_accuracy", "clean_total", "certified_accuracy", "certified_total")


def test_there_are_results() -> None:
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_tables_follow_from_rows(folder: Path) -> None:
    made = report_of_folder(folder)
    for suffix in (".md", ".csv"):
        assert made.text(suffix) == (folder / f"report{suffix}").read_text(encoding="utf-8"), suffix


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: str(path.relative_to(ROOT / "results")))
def test_no_certified_text_was_broken_and_counts_agree(path: Path) -> None:
    for record in read_records(path):
        metrics = record.metrics
        assert set(METRICS) <= set(metrics), record
        assert metrics["clean_accuracy"] == metrics["clean_count"] / metrics["clean_total"]
        assert metrics["certified_accuracy"] == metrics["certified_count"] / metrics["certified_total"]
        for attack in metrics.get("attacks", {}).values():
            assert attack["robust_accuracy"] == attack["robust_count"] / attack["robust_total"]
            assert attack["robust_count"] >= attack["certified_texts_attacked"]
