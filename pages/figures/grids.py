"""Tables of docs/results.md and docs/notebook whose rows are run records of grids."""

from __future__ import annotations

from itertools import pairwise

from pages.registry import figure
from pages.rows import method, methods, pair, percent, shown
from sgbt.core.errors import SgbtError
from sgbt.report.methods import MethodRuns, comparisons, presets_in

ORDER = ("standard", "gbm", "sgbt", "ascc", "atfl", "sem", "ibp", "certified", "certified-ties")
LARGER_GAMMAS = ("sgbt", "sgbt-gamma1.0", "sgbt-gamma3.0")
SETS = {
    "counter_fitted": "counter-fitted neighbours",
    "neighbours": "neighbours in GloVe",
    "wordnet": "WordNet's synonyms",
    "sememes": "words of the same sememes",
}
ON_ALL_OF_TEST = {
    "BagOfNgrams and a TextCNN over words on its residual": "imdb-two-channel/cnn/certified",
    "BagOfNgrams and a BiLSTM over words on its residual": "imdb-two-channel/bilstm/certified",
    "BagOfNgrams, trained on the worst case": "imdb-linear/grams/certified",
    "BagOfNgrams, standard training": "imdb-linear/grams/standard",
    "BagOfWords, trained on the worst case": "imdb-linear/linear/certified",
    "BagOfWords with positional weights": "imdb-linear/linear/certified-places",
    "BagOfWords of words alone, trained on the worst case": "imdb-linear/linear/certified-words",
    "BagOfWords of words alone, trained with vectors": "imdb-linear/linear/certified-words-vectors",
    "BagOfWords of words alone with positional weights": "imdb-linear/linear/certified-words-places",
    "TextCNN over words alone, warm start from a BagOfWords": "imdb-alone/cnn/certified",
    "BiLSTM over words alone, warm start from a BagOfWords": "imdb-alone/bilstm/certified",
    "BagOfWords and a TextCNN on its residual, words alone": "imdb-two-channel/cnn/certified-words",
    "BagOfWords and a BiLSTM on its residual, words alone": "imdb-two-channel/bilstm/certified-words",
    "TextCNN over words alone, tied words": "imdb-alone/cnn/certified-ties",
    "TextCNN with tied words and BagOfWords, words alone, late fusion": "imdb-alone/cnn/certified-apart",
    "BiLSTM with tied words and BagOfWords, words alone, late fusion": "imdb-alone/bilstm/certified-apart",
    "BiLSTM with max pooling, tied words, and BagOfWords, words alone, late fusion": (
        "imdb-alone/bilstm/certified-apart-max"
    ),
    "BagOfWords of words alone with positional weights, on all of train": "imdb-all/linear/certified-words-places",
    "BagOfWords with positional weights, on all of train": "imdb-all/linear/certified-places",
    "BagOfNgrams of two clusterings with weights for last words, on all of train": "imdb-all/grams/certified-maps",
    "BagOfNgrams of an encoder's clusters with weights for last words, on all of train": (
        "imdb-all/grams/certified-clusters"
    ),
}
QUOTED = [
    ["IBP with a robustness-aware embedding (ACL Findings 2023)", "", "84.8", "quoted"],
    ["IBP on a TextCNN", "", "76.7", "quoted, same paper"],
    ["Jia et al. 2019, TextCNN", "", "about 74", "quoted; with a language-model filter, which allows less"],
    [
        "BiLSTM, the best figure that we know of",
        "",
        "63.0",
        "quoted at second hand; with a language-model filter, which allows less",
    ],
]


FIVE = {
    ("n-grams, linear", "synonym clusters"): "imdb-all/grams/certified-clusters",
    ("bag of words, linear", "words and synonym clusters"): "imdb-all/linear/certified-places",
    ("BiLSTM and bag of words, late fusion", "words alone"): "imdb-alone/bilstm/certified-apart-max",
    ("bag of words, linear", "words alone"): "imdb-all/linear/certified-words-places",
}


@figure
def five_models() -> list[list[str]]:
    """The table of README.md: four of our models and the best that is quoted."""
    ours = [[*names, *(_on_all_of_test(path))] for names, path in FIVE.items()]
    name, _, certified, _ = QUOTED[0]
    return [*ours, [f"{name}, quoted", "words alone", "", certified]]


def _on_all_of_test(path: str) -> list[str]:
    """Clean and certified accuracy of a method, which must be of all 25,000 test reviews."""
    own = method(path)
    totals = {record.metrics["certified_total"] for record in own.records}
    if totals != {25_000}:
        raise SgbtError(expected=f"25,000 texts certified by {path}", got=f"{totals}", remedy="take it off the table")
    return [percent(own.value(kind) or 0.0) for kind in ("clean", "certified")]


@figure
def certified_on_all_of_test() -> list[list[str]]:
    """Our models on all 25,000 test reviews, and what is quoted of others."""
    ours = [
        [name, *_on_all_of_test(path), f"ours, `results/{path.partition('/')[0]}`"]
        for name, path in ON_ALL_OF_TEST.items()
    ]
    return ours + QUOTED


@figure
def table_1(folder: str) -> list[list[str]]:
    """FOLDER: the methods of the paper's Table 1, in its order."""

    def place(own: MethodRuns) -> tuple[str, bool, int]:
        return own.first.dataset, own.first.model != "cnn", ORDER.index(own.label)

    found = sorted(methods(folder), key=place)
    several = len({own.first.dataset for own in found}) > 1
    lines = []
    for own in found:
        cells = [own.first.dataset] if several else []
        cells += [own.first.model, own.label, str(len(own.records)), shown(own, "clean"), shown(own, "certified")]
        lines.append(cells + [_under(own, attack) for attack in presets_in([own])])
    return lines


def _under(own: MethodRuns, attack: str) -> str:
    """The share of all texts, and in brackets that of the texts that were right."""
    return f"{shown(own, 'robust', attack)} ({shown(own, 'aua', attack)})"


@figure
def ablation() -> list[list[str]]:
    """Growth and curvature on one dataset: certified within one word, three, any number."""
    lines = []
    for own in methods("ablation-small"):
        within = [
            sum(run.metrics["certified_by_budget"][str(words)] for run in own.records)
            / sum(run.metrics["certified_total"] for run in own.records)
            for words in (1, 3)
        ]
        figures = [shown(own, "clean"), *map(percent, within), shown(own, "certified"), shown(own, "robust", "pwws")]
        lines.append([own.label, str(len(own.records)), *figures])
    return lines


@figure
def ablation_pairs() -> list[list[str]]:
    """S-GBT against GBM: with the same beta, and with the larger beta whose accuracy on dev is nearest."""
    lines = []
    for names in (("sgbt", "gbm"), *((first, "gbm-beta*") for first in LARGER_GAMMAS)):
        for found in comparisons(methods("ablation-small"), names):
            result, both = found.result, f"{found.first.label}, {found.second.label}"
            counts = [f"{result.only_first:,}", f"{result.only_second:,}"]
            lines.append([both, found.metric, f"{100 * result.difference:+.2f}", *counts, f"{result.p_value:.2g}"])
    return lines


@figure
def on_one_curve() -> list[list[str]]:
    """What GBM would have at the clean accuracy of an S-GBT: on the straight line between its two nearest betas."""
    points = {
        own.label: (own.value("clean") or 0.0, own.value("robust", "pwws") or 0.0) for own in methods("ablation-small")
    }
    growth = sorted(point for label, point in points.items() if label.startswith("gbm"))
    lines = []
    for label in LARGER_GAMMAS:
        clean, robust = points[label]
        below, above = next(both for both in pairwise(growth) if both[0][0] <= clean <= both[1][0])
        there = below[1] + (above[1] - below[1]) * (clean - below[0]) / (above[0] - below[0])
        lines.append([label, percent(clean), percent(robust), percent(there)])
    return lines


@figure
def points_above_the_curve() -> str:
    """The least and the most that S-GBT has above that line, by the figures of `on_one_curve`."""
    left = sorted(float(robust) - float(growth) for *_, robust, growth in on_one_curve())
    return f"{left[0]:.1f} to {left[-1]:.1f}"


@figure
def clean_points_behind() -> str:
    """The least and the most clean accuracy that S-GBT lacks in the matched pairs."""
    found = [pair(f"ablation-small/{first}", "ablation-small/gbm-beta*")["clean"] for first in LARGER_GAMMAS]
    behind = sorted(-100 * each.difference for each in found)
    return f"{behind[0]:.1f} to {behind[-1]:.1f}"


@figure
def weights() -> list[list[str]]:
    """The study of beta and gamma."""
    lines = []
    for own in methods("hyperparameters-small"):
        run, options = own.first, own.first.config["objective_options"]
        figures = [shown(own, "clean"), shown(own, "certified"), shown(own, "robust", "pwws")]
        lines.append([f"{run.dataset}, {run.model}", f"{options['beta']:g}", f"{options['gamma']:g}", *figures])
    return lines


@figure
def robust_range(folder: str, model: str, attack: str) -> str:
    """FOLDER MODEL ATTACK: the least and the greatest robust accuracy of its methods."""
    held = sorted(float(own.value("robust", attack) or 0.0) for own in methods(folder) if own.first.model == model)
    return f"{percent(held[0])} to {percent(held[-1])}"


@figure
def substitution_sets() -> list[list[str]]:
    """Models against four substitution sets."""
    lines = []
    for own in methods("substitutions-small"):
        run = own.first
        figures = [shown(own, "certified"), *(shown(own, "robust", attack) for attack in sorted(run.attacks))]
        lines.append([f"{run.model}, {own.label}", SETS[str(run.substitutions["name"])], *figures])
    return lines


@figure
def gained_beside_a_gram_bag(name: str) -> str:
    """accuracy|certified: the least and the most points of dev that a network adds to a BagOfNgrams."""
    alone = method("imdb-linear/grams/certified").first.metrics["dev"][name]
    found = [method(f"imdb-two-channel/{model}/certified").first.metrics["dev"][name] for model in ("cnn", "bilstm")]
    gains = sorted({percent(each - alone) for each in found})
    return " to ".join(gains)
