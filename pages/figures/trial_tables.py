"""Tables of docs/results.md and docs/notebook whose rows are trials: results/trials and results/recipes."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import Row, methods, percent, rows, shown
from sgbt.core.errors import SgbtError

FOLD = "imdb, fold 1 of 5"


LABELLED = "BagOfNgrams, clusters that labels keep apart"
TOGETHER = "three lists, "


@figure
def on_dev(path: str, prefix: str = "") -> list[list[str]]:
    """FILE [PREFIX]: label, clean and certified accuracy of every trial, all of them on dev."""
    found = methods(path)
    if {each.first.config["split"] for each in found} != {"dev"}:
        raise SgbtError(expected=f"trials on dev in {path}", got="others", remedy="tables of trials are of dev alone")
    return [[f"{prefix}{each.label}", shown(each, "clean"), shown(each, "certified")] for each in found]


@figure
def begun_as_a_linear_bag() -> list[list[str]]:
    """Networks over words alone, on dev."""
    return on_dev("trials/cnn-alone", "TextCNN, ") + on_dev("trials/bilstm-alone", "BiLSTM, ")


@figure
def gram_trials() -> list[list[str]]:
    """BagOfNgrams models on dev, by what was changed."""
    lines = []
    for row in rows("trials/grams"):
        changed = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in row["trial"].items())
        lines.append([changed or "as shipped", *(percent(row["dev"][name]) for name in ("accuracy", "certified"))])
    return lines


def by_trial(path: str) -> dict[str, list[Row]]:
    """The folds of every trial, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for row in rows(path):
        found.setdefault(row["trial"], []).append(row)
    return found


@figure
def film_trials() -> list[list[str]]:
    """One line for every trial, its folds together."""
    lines = []
    for trial, folds in by_trial("trials/linear-films").items():
        if len({row["fold"] for row in folds}) != len(folds):
            raise SgbtError(expected=f"every fold of {trial} once", got="one twice", remedy="take the second row out")
        texts, right, proven = (sum(row[name] for row in folds) for name in ("texts", "right", "proven"))
        lines.append([trial, f"{texts:,}", percent(right / texts), percent(proven / texts)])
    return lines


@figure
def network_film_trials() -> list[list[str]]:
    """The BagOfWords that stands beside them on the first fold, and every network there."""
    bag = [row for row in by_trial("trials/linear-films")["words, places"] if row["fold"] == FOLD]
    networks = [row for row in rows("trials/network-films") if row["fold"] == FOLD]
    named = [*(("the BagOfWords", row) for row in bag), *((f"TextCNN, {row['trial']}", row) for row in networks)]
    return [[name, *(percent(row[key] / row["texts"]) for key in ("right", "proven"))] for name, row in named]


@figure
def rare_substitutes() -> list[list[str]]:
    """One line for every list: who is on it, what it can do to dev, and what is certified with and without ties."""
    found: dict[int, dict[str, Row]] = {}
    for row in rows("trials/linear-frequent"):
        found.setdefault(row["least"], {})[row["recipe"]] = row
    lines = []
    for least, recipes in found.items():
        texts = recipes["without"]["of_dev_words"]
        cells = [f"{least or 'any'}", f"{recipes['without']['substitutions']['words']:,}"]
        cells += [percent(texts["replaceable"] / texts["words"]), f"10^{texts['log10_combinations']:.0f}"]
        for recipe in ("with ties", "without"):
            cells += [percent(recipes[recipe]["dev"][name]) for name in ("accuracy", "certified")]
        lines.append(cells)
    return lines


@figure
def list_trials() -> list[list[str]]:
    """N-grams of clusters that labels keep apart: a line for every trial that was finished."""
    tried = [row for row in rows("trials/scripts") if row["model"] == LABELLED and "failed" not in row]
    return [_of_list(row, f"{row['options']['steps']}", f"{row['texts']:,}") for row in tried]


@figure
def union_trials() -> list[list[str]]:
    """Models for three lists together, on dev: a line for every trial, with the share of words left ambiguous."""
    tried = [row for row in rows("trials/scripts") if row["trial"].startswith(TOGETHER)]
    left = [row["options"].get("ambiguous") for row in tried]
    return [_of_list(row, "" if each is None else percent(each)) for row, each in zip(tried, left, strict=True)]


def _of_list(row: Row, *more: str) -> list[str]:
    name = row["trial"].removeprefix(TOGETHER).removeprefix("n-grams of ")
    lists = [row["options"]["substitutions"].replace("+", " + ")] if row["model"] == LABELLED else []
    return [name, *lists, *more, *(percent(row[each]) for each in ("clean", "certified"))]
