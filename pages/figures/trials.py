"""Single figures of trials: results/trials."""

from __future__ import annotations

from pages.figures.trial_tables import by_trial
from pages.registry import figure
from pages.rows import Row, matching, methods, percent, rows

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BESIDE_A_GRAM_BAG = "apart, BiLSTM of the greatest states beside the GramBag of imdb-linear"


@figure
def script(trial: str) -> str:
    """TRIAL: what a script outside the repository logged as certified, in percent; the best of its epochs."""
    return percent(max(row["certified"] for row in rows("trials/scripts") if row["trial"] == trial))


@figure
def best_weight_gain() -> str:
    """What a BiLSTM adds to the GramBag's certified accuracy at the best weight, in points of dev."""
    found = _by_weight()
    return percent(max(found.values()) - found[0.0])


@figure
def weights_tried() -> str:
    """How many weights of that BiLSTM were tried, in words."""
    return COUNTS[len(_by_weight()) - 1]


def _by_weight() -> dict[float, float]:
    tried = [row for row in rows("trials/scripts") if row["trial"].startswith(BESIDE_A_GRAM_BAG)]
    return {row["options"]["weight"]: row["certified"] for row in tried}


@figure
def best_single_level() -> str:
    """The greatest certified accuracy of ties over one level, in percent."""
    levels = [each for each in matching("trials/linear-search/ties-*") if each.label.count("-") == 1]
    return percent(max(each.value("certified") or 0.0 for each in levels))


@figure
def certified_by_links() -> str:
    """The range of certified accuracy of words that learned together by links, in percent."""
    shares = sorted(
        float(each.value("certified") or 0.0)
        for each in methods("trials/linear-words")
        if each.label != "decay3e-5-hops0"
    )
    return f"{percent(shares[0])} to {percent(shares[-1])}"


@figure
def film_gain(better: str, base: str) -> str:
    """TRIAL TRIAL: the points that the first certifies more than the second in folds of train."""

    def share(trial: str) -> float:
        folds = by_trial("trials/linear-films")[trial]
        return float(sum(row["proven"] for row in folds) / sum(row["texts"] for row in folds))

    return percent(share(better) - share(base))


@figure
def stopped_bilstm() -> str:
    """The greatest certified accuracy on dev of the BiLSTM that was stopped, in percent."""
    (row,) = rows("trials/bilstm-stopped")
    return percent(max(epoch["dev"]["certified"] for epoch in row["curve"]))


@figure
def codes(resolution: str, name: str) -> str:
    """RESOLUTION|shipped NAME: a figure of a GramBag's codes or of its dev accuracy, in whole percent."""
    wanted = {} if resolution == "shipped" else {"resolution": float(resolution)}
    (row,) = [row for row in rows("trials/grams") if row["trial"] == wanted]
    return percent(row["dev"].get(name) or row[name], 0)


@figure
def frequent(least: str, recipe: str, name: str) -> str:
    """LEAST RECIPE NAME: a figure on dev of the list cut to words that train has so often, in percent."""
    return percent(_frequent(least, recipe)["dev"][name])


@figure
def frequent_replaceable(least: str) -> str:
    """LEAST: the share of the running words that such a list reaches, in percent."""
    words = _frequent(least, "without")["of_dev_words"]
    return percent(words["replaceable"] / words["words"])


def _frequent(least: str, recipe: str) -> Row:
    found = rows("trials/linear-frequent")
    (row,) = [row for row in found if (row["least"], row["recipe"]) == (int(least), recipe)]
    return row
