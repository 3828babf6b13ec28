"""The tables of docs/results.md are made from committed rows: here they are made again, and compared line by line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.report.pages import is_a_whole_table, rows

from sgbt.evaluate import read_records
from sgbt.report.methods import MethodRuns, methods_of, presets_in
from sgbt.report.paired import comparisons

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
ORDER = ("standard", "gbm", "sgbt", "ascc", "atfl", "sem", "ibp", "certified", "certified-ties")
SETS = {
    "counter_fitted": "counter-fitted neighbours",
    "neighbours": "neighbours in GloVe",
    "wordnet": "WordNet's synonyms",
    "sememes": "words of the same sememes",
}


def methods(folder: str) -> list[MethodRuns]:
    return methods_of(read_records(ROOT / "results" / folder / "records.jsonl"))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def shown(method: MethodRuns, name: str, attack: str | None = None) -> str:
    """A figure as the report has it, without interval or spread."""
    return method.figure(name, attack).text.partition(" ")[0]


def under(method: MethodRuns, attack: str) -> str:
    """The share of all texts, and in brackets that of the texts that were right."""
    return f"{shown(method, 'robust', attack)} ({shown(method, 'aua', attack)})"


def table_1(folder: str = "table1-small") -> list[str]:
    def place(method: MethodRuns) -> tuple[str, bool, int]:
        return method.first.dataset, method.first.model != "cnn", ORDER.index(method.label)

    lines = []
    for method in sorted(methods(folder), key=place):
        run = method.first
        cells = [run.dataset, run.model, method.label, str(len(method.records)), shown(method, "clean")]
        cells += [shown(method, "certified"), *(under(method, attack) for attack in presets_in([method]))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def table_1_on_all_of_imdb() -> list[str]:
    return [line.removeprefix("| imdb ") for line in table_1("table1-imdb")]


def ablation() -> list[str]:
    lines = []
    for method in methods("ablation-small"):
        within = [
            sum(run.metrics["certified_by_budget"][str(words)] for run in method.records)
            / sum(run.metrics["certified_total"] for run in method.records)
            for words in (1, 3)
        ]
        figures = [shown(method, "clean"), *map(percent, within), shown(method, "certified")]
        figures.append(shown(method, "robust", "pwws"))
        lines.append(f"| {method.label} | {len(method.records)} | {' | '.join(figures)} |")
    return lines


def pairs() -> list[str]:
    lines = []
    for pair in (("sgbt", "gbm"), *((f"sgbt{gamma}", "gbm-beta*") for gamma in ("", "-gamma1.0", "-gamma3.0"))):
        for found in comparisons(methods("ablation-small"), pair):
            result, both = found.result, f"{found.first.label}, {found.second.label}"
            figures = f"{100 * result.difference:+.2f} | {result.only_first:,} | {result.only_second:,}"
            lines.append(f"| {both} | {found.metric} | {figures} | {result.p_value:.2g} |")
    return lines


def on_one_curve() -> list[str]:
    """What GBM would have at the clean accuracy of an S-GBT: on the straight line between its two nearest betas."""
    found = {method.label: method for method in methods("ablation-small")}
    points = {label: (method.value("clean"), method.value("robust", "pwws")) for label, method in found.items()}
    growth = sorted(point for label, point in points.items() if label.startswith("gbm"))
    lines = []
    for label in ("sgbt", "sgbt-gamma1.0", "sgbt-gamma3.0"):
        clean, robust = points[label]
        below, above = next(pair for pair in pairwise(growth) if pair[0][0] <= clean <= pair[1][0])
        there = below[1] + (above[1] - below[1]) * (clean - below[0]) / (above[0] - below[0])
        lines.append(f"| {label} | {percent(clean)} | {percent(robust)} | {percent(there)} |")
    return lines


def hyperparameters() -> list[str]:
    lines = []
    for method in methods("hyperparameters-small"):
        run = method.first
        options = run.config["objective_options"]
        figures = (shown(method, "clean"), shown(method, "certified"), shown(method, "robust", "pwws"))
        start = f"| {run.dataset}, {run.model} | {options['beta']:g} | {options['gamma']:g} |"
        lines.append(f"{start} {' | '.join(figures)} |")
    return lines


def substitution_sets() -> list[str]:
    lines = []
    for method in methods("substitutions-small"):
        run = method.first
        figures = [shown(method, "certified"), *(shown(method, "robust", attack) for attack in sorted(run.attacks))]
        against = SETS[str(run.substitutions["name"])]
        lines.append(f"| {run.model}, {method.label} | {against} | {' | '.join(figures)} |")
    return lines


def recipes() -> list[str]:
    found = methods("recipes")
    assert all(method.first.config["split"] == "dev" for method in found)
    return [f"| {method.label} | {shown(method, 'clean')} | {shown(method, 'certified')} |" for method in found]


def trials(name: str, prefix: str = "") -> list[str]:
    found = methods_of(read_records(ROOT / "results" / "trials" / f"{name}.jsonl"))
    assert all(method.first.config["split"] == "dev" for method in found)
    return [f"| {prefix}{each.label} | {shown(each, 'clean')} | {shown(each, 'certified')} |" for each in found]


def linear_trials() -> list[str]:
    return trials("linear-ties")


def search_trials() -> list[str]:
    return trials("linear-search")


def vector_trials() -> list[str]:
    return trials("linear-vectors")


def alone_trials() -> list[str]:
    return trials("cnn-alone", "TextCNN, ") + trials("bilstm-alone", "BiLSTM, ")


def tie_trials() -> list[str]:
    return trials("ties")


def gram_trials() -> list[str]:
    lines = []
    for row in rows("trials/grams.jsonl"):
        changed = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in row["trial"].items())
        dev = row["dev"]
        lines.append(f"| {changed or 'as shipped'} | {percent(dev['accuracy'])} | {percent(dev['certified'])} |")
    return lines


def film_trials() -> list[str]:
    """One line for every trial, its folds together."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows("trials/linear-films.jsonl"):
        found.setdefault(row["trial"], []).append(row)
    lines = []
    for trial, folds in found.items():
        assert len({row["fold"] for row in folds}) == len(folds)
        texts, right, proven = (sum(row[name] for row in folds) for name in ("texts", "right", "proven"))
        lines.append(f"| {trial} | {texts:,} | {percent(right / texts)} | {percent(proven / texts)} |")
    return lines


def network_film_trials() -> list[str]:
    """The LinearBag that stands beside them on the first fold, and every network there."""
    fold = "imdb, fold 1 of 5"
    bag = [row for row in rows("trials/linear-films.jsonl") if (row["trial"], row["fold"]) == ("words, places", fold)]
    networks = rows("trials/network-films.jsonl")
    assert {row["fold"] for row in networks} == {fold}
    return [
        f"| {name} | {percent(row['right'] / row['texts'])} | {percent(row['proven'] / row['texts'])} |"
        for name, row in [("the LinearBag", *bag), *((f"TextCNN, {row['trial']}", row) for row in networks)]
    ]


def rare_substitutes() -> list[str]:
    """One line for every list: who is on it, what it can do to dev, and what is certified with and without ties."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows("trials/linear-frequent.jsonl"):
        found.setdefault(row["least"], {})[row["recipe"]] = row
    lines = []
    for least, recipes in found.items():
        texts = recipes["without"]["of_dev_words"]
        cells = [f"{least or 'any'}", f"{recipes['without']['substitutions']['words']:,}"]
        cells += [percent(texts["replaceable"] / texts["words"]), f"10^{texts['log10_combinations']:.0f}"]
        for recipe in ("with ties", "without"):
            cells += [percent(recipes[recipe]["dev"][name]) for name in ("accuracy", "certified")]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


@pytest.mark.parametrize(
    "made",
    [
        table_1,
        table_1_on_all_of_imdb,
        ablation,
        pairs,
        on_one_curve,
        hyperparameters,
        recipes,
        linear_trials,
        search_trials,
        vector_trials,
        alone_trials,
        tie_trials,
        gram_trials,
        film_trials,
        network_film_trials,
        rare_substitutes,
        substitution_sets,
    ],
)
def test_a_table_follows_from_rows(made: Callable[[], list[str]]) -> None:
    lines = made()
    assert len(lines) > 2
    assert is_a_whole_table(lines, PAGE)
