"""Published figures follow from committed rows: every table of results/, and the one that the README shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgbt.evaluate import read_records
from sgbt.report.build import report_of_folder
from sgbt.report.methods import methods_of

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


def test_every_line_of_the_readmes_tables_is_one_of_the_report_that_it_names() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Results", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    folder = None
    for line in section.splitlines():
        named = re.findall(r"\]\(results/([\w-]+)/report\.md\)", line)
        folder = named[-1] if named else folder
        if line.startswith("|"):
            assert folder is not None
            assert line in (ROOT / "results" / folder / "report.md").read_text(encoding="utf-8").splitlines()


OURS = {
    "TextCNN over words beside a GramBag": ("imdb-two-channel", "cnn", "certified"),
    "BiLSTM over words beside a GramBag": ("imdb-two-channel", "bilstm", "certified"),
    "GramBag, trained on the worst case": ("imdb-linear", "grams", "certified"),
    "GramBag, standard training": ("imdb-linear", "grams", "standard"),
    "LinearBag, trained on the worst case": ("imdb-linear", "linear", "certified"),
    "LinearBag of words alone, trained on the worst case": ("imdb-linear", "linear", "certified-words"),
    "LinearBag of words alone that learns from vectors too": ("imdb-linear", "linear", "certified-words-vectors"),
    "LinearBag of words alone that also counts where they stand": ("imdb-linear", "linear", "certified-words-places"),
    "LinearBag that also counts where words stand": ("imdb-linear", "linear", "certified-places"),
    "LinearBag of words alone with places, on all of train": ("imdb-all", "linear", "certified-words-places"),
    "LinearBag with places, on all of train": ("imdb-all", "linear", "certified-places"),
    "GramBag of two maps and endings, on all of train": ("imdb-all", "grams", "certified-maps"),
    "TextCNN over words alone, beside a LinearBag with places": ("imdb-two-channel", "cnn", "certified-words"),
    "BiLSTM over words alone, beside a LinearBag with places": ("imdb-two-channel", "bilstm", "certified-words"),
    "TextCNN over words alone, begun as a LinearBag": ("imdb-alone", "cnn", "certified"),
    "BiLSTM over words alone, begun as a LinearBag": ("imdb-alone", "bilstm", "certified"),
    "TextCNN over words alone, from tied vectors": ("imdb-alone", "cnn", "certified-ties"),
    "TextCNN from tied vectors and a LinearBag with places, trained apart": ("imdb-alone", "cnn", "certified-apart"),
    "BiLSTM from tied vectors and a LinearBag with places, trained apart": ("imdb-alone", "bilstm", "certified-apart"),
    "BiLSTM of the greatest states from tied vectors and a LinearBag with places, trained apart": (
        "imdb-alone",
        "bilstm",
        "certified-apart-max",
    ),
}


def test_the_table_of_certified_accuracy_follows_from_rows() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    shown = {line for line in page.splitlines() if "| ours, " in line}
    made = set()
    for name, (folder, model, objective) in OURS.items():
        found = methods_of(read_records(ROOT / "results" / folder / "records.jsonl"))
        (method,) = [each for each in found if (each.first.model, each.label) == (model, objective)]
        assert {record.metrics["certified_total"] for record in method.records} == {25_000}
        clean, certified = (100 * method.value(kind) for kind in ("clean", "certified"))
        made.add(f"| {name} | {clean:.1f} | {certified:.1f} | ours, `results/{folder}` |")
    assert shown == made


def test_what_is_said_of_trials_follows_from_rows() -> None:
    rows = [json.loads(line) for line in (ROOT / "results" / "trials" / "grams.jsonl").read_text().splitlines()]
    assert len({json.dumps(row["trial"]) for row in rows}) == len(rows)
    (chosen,) = [row for row in rows if row["trial"] == {}]
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    dev = chosen["dev"]
    assert f"has {100 * dev['accuracy']:.1f} clean and {100 * dev['certified']:.1f}\ncertified" in page
    assert all(row["dev"]["certified"] <= dev["certified"] + 0.005 for row in rows)
