"""Tables of docs/reproduction.md: each reading of the paper's protocol beside the paper's figures.

Rows are the records of results/reproduction (the paper's sizes) and results/reproduction-small (a laptop's). What has
not run yet is absent: a reading without records is an empty block, an attack or a set without figures has no column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from pages.markers import table_line
from pages.registry import figure
from pages.rows import RESULTS, percent, rows
from sgbt.core.shares import Share
from sgbt.evaluate import Mean, RunRecord, read_records
from sgbt.report.methods import MethodRuns, attacks_in, comparisons, methods_of
from sgbt.report.published import TABLE_1

READINGS = ("stated-set", "stated-attacks", "released-code", "ours")
SIZES = {"small": "small", "full": "the paper's sizes"}
FOLDERS = {"small": "reproduction-small", "full": "reproduction"}
ATTACKS = {
    "pwws": "PWWS",
    "genetic": "GA",
    "genetic:openattack": "GA",
    "pso": "PSO",
    "pso:openattack": "PSO",
    "pso:openattack-compat": "PSO with OpenAttack's fault",
}
COUNTER_FITTED_HERE = "counter-fitted here, within 0.2 of unit vectors"
SETS = {
    "neighbours": "neighbours in GloVe within 0.5 of unit vectors",
    "neighbours:nearest=8,distance=0.5": "neighbours in GloVe within 0.5 of unit vectors",
    "neighbours:normalised=false": "neighbours in GloVe within 0.5 of raw vectors",
    "counter_fit:distance=0.2,nearest=8,counts_itself=true": COUNTER_FITTED_HERE,
    "counter_fit:distance=0.2,nearest=8,counts_itself=true,screened=false": COUNTER_FITTED_HERE,
    "counter_fitted": "the published counter-fitted list",
    "wordnet": "WordNet's synonyms",
    "sememes": "words of the same sememes",
    "wordnet+counter_fitted+sememes": "the union of the last three",
}
PAIRS = (("sgbt", "gbm"), ("sgbt", "standard"), ("sgbt-3", "gbm-*"), ("sgbt-10", "gbm-*"))
BUDGETS = ("1", "2", "4", "7", "15")
MAIN = ("standard", "gbm", "sgbt")
Group = dict[str, list[MethodRuns]]
"""The methods of one dataset and one kind of model by label, each with the sets that it was measured against."""


@figure
def reading(name: str, size: str) -> str:
    """READING small|full: its tables beside the paper's figures; nothing while it has no records."""
    return reading_of(_records(name, size), SIZES[size])


@figure
def reading_pairs(name: str, size: str) -> str:
    """READING small|full: S-GBT against GBM and standard training, text by text."""
    return pairs_of(_records(name, size))


@figure
def readings(size: str) -> str:
    """small|full: TextCNN on IMDB in every reading that has records, beside the paper's figures."""
    return summary_of({name: _records(name, size) for name in READINGS})


@figure
def under_attacks(name: str, size: str, label: str) -> str:
    """READING small|full LABEL: AUA of the TextCNN on IMDB under PWWS, GA and PSO, in percent."""
    own = _groups(_records(name, size))["imdb", "cnn"][label]
    found = {ATTACKS[attack]: shares for attack in ATTACKS if (shares := _found(own, "aua", attack))}
    return " / ".join(_shares(found[attack], interval=False) for attack in ("PWWS", "GA", "PSO"))


@figure
def reading_pair(name: str, size: str, first: str, second: str) -> str:
    """READING small|full LABEL LABEL: points of certified accuracy the first has above the second, with p."""
    group = _groups(_records(name, size))["imdb", "cnn"]
    found = [each for label in (first, second) for each in group[label]]
    (own,) = [each.result for each in comparisons(found, (first, second)) if each.metric == "certified"]
    return f"{100 * own.difference:+.1f} points, p {own.p_value:.2g}"


@figure
def reading_figure(name: str, size: str, label: str, metric: str, attack: str = "") -> str:
    """READING small|full LABEL aua|certified|certified_of_correct [ATTACK]: one figure of that TextCNN, in percent."""
    own = _groups(_records(name, size))["imdb", "cnn"][label]
    if metric.startswith("certified"):
        own = [each for each in own if len(own) == 1 or _is_union(each)]
    return _shares(_found(own, metric, attack or None), interval=False)


@figure
def quoted_figures(label: str) -> str:
    """LABEL: the paper's AUA of its TextCNN on IMDB under PWWS, GA and PSO."""
    return " / ".join(f"{each}" for each in TABLE_1["imdb", "cnn"][label][1:])


@figure
def reach() -> list[list[str]]:
    """What each set reaches in the test reviews of IMDB."""
    return [
        [
            SETS[row["substitutions"]["name"]],
            *(f"{row[name]:,}" for name in ("words_with_substitutes", "pairs")),
            percent(row["running_words_reached"] / row["running_words"]),
            f"{row['test_texts_reached']:,}",
            f"10^{row['log10_combinations']:.0f}" if row["pairs"] else "none",
        ]
        for row in rows("reproduction-reach/reach")
    ]


def reading_of(records: Sequence[RunRecord], size: str) -> str:
    """For each dataset and kind of model: AUA beside the paper's, robust accuracy, certified accuracy."""
    parts = []
    for (dataset, model), group in _groups(records).items():
        title, attacks = _title(dataset, model, size), _attacks(group)
        quoted = TABLE_1.get((dataset, model), {})
        certified = [line for label, sets in group.items() for own in sets if (line := _certified(label, own))]
        tables = {
            "AUA, among correctly classified texts; *paper* columns are quoted": _under_attack(group, attacks, quoted),
            "robust, among all texts drawn": _robust(group, attacks),
            "certified, among all texts of a sample of its own, by the number of words that may be replaced": (
                ["method", "substitutes", *BUDGETS, "any", "any, of correct texts"],
                certified,
            ),
        }
        parts += [f"{title}: {what}.\n\n{_table(*each)}" for what, each in tables.items() if each[1]]
    return "\n\n".join(parts)


def _certified(label: str, own: MethodRuns) -> list[str]:
    """Certified accuracy against one set, over all seeds that have it."""
    done = [run.metrics for run in own.records if "certified_by_budget" in run.metrics]
    if not done:
        return []
    total = sum(run["certified_total"] for run in done)
    within = [percent(sum(run["certified_by_budget"][words] for run in done) / total) for words in BUDGETS]
    whole = [_shares(own.shares(name)) for name in ("certified", "certified_of_correct")]
    return [label, SETS[str(own.first.substitutions["name"])], *within, *whole]


def pairs_of(records: Sequence[RunRecord]) -> str:
    """Clean and certified accuracy of pairs on the same texts. Attacked texts differ from model to model."""
    lines = []
    for (dataset, model), group in _groups(records).items():
        named = dict.fromkeys(str(own.first.substitutions["name"]) for sets in group.values() for own in sets)
        for name in named:
            found = [own for sets in group.values() for own in sets if own.first.substitutions["name"] == name]
            for pair in PAIRS:
                for each in comparisons(found, pair):
                    if each.metric.startswith(("clean", "certified")):
                        result, both = each.result, f"{each.first.label}, {each.second.label}"
                        counts = [f"{result.only_first:,}", f"{result.only_second:,}"]
                        found_in = [f"{dataset}, {model}", SETS[name], both, each.metric]
                        lines.append([*found_in, f"{100 * result.difference:+.2f}", *counts, f"{result.p_value:.2g}"])
    if not lines:
        return ""
    heads = ["data, model", "substitutes", "pair", "metric", "points", "only the first", "only the second", "p"]
    said = (
        "Pairs on the same texts: points are the first method's share less the second's, p of the exact sign-flip test."
    )
    return f"{said}\n\n{_table(heads, list(dict.fromkeys(map(tuple, lines))))}"


def summary_of(found: dict[str, list[RunRecord]]) -> str:
    """Standard training, GBM and S-GBT: clean, AUA under PWWS and certified, one line for each reading."""
    lines = []
    for name, records in found.items():
        group = _groups(records).get(("imdb", "cnn"), {})
        if group:
            cells = [_cell(group, label, "clean") for label in MAIN]
            cells += [_cell(group, label, "aua", "pwws") for label in MAIN]
            union = {label: [own for own in sets if len(sets) == 1 or _is_union(own)] for label, sets in group.items()}
            lines.append([f"`{name}`", *cells, *(_cell(union, label, "certified") for label in MAIN)])
    if not lines:
        return ""
    paper = TABLE_1["imdb", "cnn"]
    quoted = [f"{paper[label][place]}" for place in (0, 1) for label in MAIN]
    heads = [f"{what}, {label}" for what in ("clean", "AUA", "certified") for label in MAIN]
    said = (
        "TextCNN on IMDB; AUA is under PWWS; certified for the set (or the union of sets) of the reading,"
        " any number of words, among all texts:"
    )
    return said + "\n\n" + _table(["reading", *heads], [["the paper, quoted", *quoted, "", "", ""], *lines])


def _under_attack(
    group: Group, attacks: Sequence[str], quoted: Mapping[str, tuple[float, ...]]
) -> tuple[list[str], list[list[str]]]:
    """AUA by attack, each with the paper's figure beside it where there is one."""
    places = {"PWWS": 1, "GA": 2, "PSO": 3}
    heads = ["method", "seeds", "clean", "paper"]
    for attack in attacks:
        heads += [ATTACKS[attack], "paper"] if ATTACKS[attack] in places else [ATTACKS[attack]]
    lines = []
    for label, sets in group.items():
        paper = [f"{each}" for each in quoted[label]] if label in quoted else [""] * 4
        seeds = max(len(own.records) for own in sets)
        cells = [label, str(seeds), _shares(_found(sets, "clean")), paper[0]]
        for attack in attacks:
            cells.append(_shares(_found(sets, "aua", attack)))
            if ATTACKS[attack] in places:
                cells.append(paper[places[ATTACKS[attack]]])
        lines.append(cells)
    return heads, lines


def _robust(group: Group, attacks: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Robust accuracy by attack."""
    heads = ["method", *(ATTACKS[attack] for attack in attacks)]
    lines = [[label, *(_shares(_found(sets, "robust", attack)) for attack in attacks)] for label, sets in group.items()]
    return heads, lines if attacks else []


def _is_union(own: MethodRuns) -> bool:
    """Whether the set joins those of all attacks."""
    return str(own.first.substitutions["name"]).count("+") > 1


def _cell(group: Group, label: str, name: str, attack: str | None = None) -> str:
    return _shares(_found(group.get(label, []), name, attack), interval=False)


def _found(sets: Iterable[MethodRuns], name: str, attack: str | None = None) -> list[Share]:
    """The shares of the first set that has this metric: an attack has one set, and clean accuracy has none."""
    return next((shares for own in sets if (shares := own.shares(name, attack))), [])


def _shares(shares: Sequence[Share], *, interval: bool = True) -> str:
    """One seed with its 95 % interval, several with their standard deviation, none as an empty cell."""
    if not shares:
        return ""
    if len(shares) == 1:
        low, high = shares[0].interval
        return percent(shares[0].value) + (f" ({percent(low)} to {percent(high)})" if interval else "")
    mean = Mean.of([100 * share.value for share in shares])
    return f"{mean.value:.1f}" + (f" ± {mean.deviation:.1f}" if interval else "")


def _attacks(group: Group) -> list[str]:
    return attacks_in(own for sets in group.values() for own in sets)


def _title(dataset: str, model: str, size: str) -> str:
    data = {"imdb": "IMDB", "yahoo_answers": "Yahoo! Answers"}[dataset]
    return f"**{data}, {'TextCNN' if model == 'cnn' else 'BiLSTM'}, {size}**"


def _groups(records: Sequence[RunRecord]) -> dict[tuple[str, str], Group]:
    found: dict[tuple[str, str], Group] = {}
    for own in methods_of(records):
        found.setdefault((own.first.dataset, own.first.model), {}).setdefault(own.label, []).append(own)
    return found


def _records(name: str, size: str) -> list[RunRecord]:
    grid = f"reproduction-{name}" + ("-small" if size == "small" else "")
    return [record for record in _all_records(FOLDERS[size]) if record.grid == grid]


@cache
def _all_records(folder: str) -> list[RunRecord]:
    path = RESULTS / folder / "records.jsonl"
    return read_records(path) if path.is_file() else []


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, or nothing where it has no lines."""
    if not lines:
        return ""
    return "\n".join(map(table_line, (heads, ["---"] * len(heads), *lines)))
