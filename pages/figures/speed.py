"""Figures of what benchmarks measured: results/speed, and the times in results/certificates."""

from __future__ import annotations

from statistics import median

from pages.registry import figure
from pages.rows import Row, percent, rows

MODELS = ("TextCNN", "BiLSTM")
NAMES = {"cnn": "TextCNN", "bilstm": "BiLSTM"}
OBJECTIVES = ("gbm", "sgbt", "sem", "ibp", "certified", "atfl", "ascc")
TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "exact")
EPOCH = 25_000


def row_with(name: str, **wanted: object) -> Row:
    """The row of results/speed/NAME.jsonl with these values; the first, where a base was measured in several groups."""
    return next(row for row in rows(f"speed/{name}") if all(row.get(key) == value for key, value in wanted.items()))


def times(ratio: float) -> str:
    """A ratio as the pages write it."""
    return f"{ratio:.2f} x" if ratio < 2 else f"{ratio:.1f} x"


@figure
def steps() -> list[list[str]]:
    """A step of every objective against a standard one."""

    def line(named: str, **wanted: str) -> list[str]:
        return [named, *(times(row_with("training", model=model, **wanted)["ratio"]) for model in MODELS)]

    own = [line(way, title="one step", way=way) for way in OBJECTIVES]
    return [*own, line("standard, every text padded to 512 words", way="padded to 512")]


@figure
def epochs() -> list[list[str]]:
    """What an epoch costs, and each text of it."""
    lines = []
    for way in ("standard", *OBJECTIVES):
        cells = []
        for model in MODELS:
            row = row_with("training", model=model, title="one step", way=way)
            text = row["mean_milliseconds"] / row["texts"]
            cells += [f"{EPOCH * text / 1e3:,.0f}", f"{text:.1f}"]
        lines.append([way, *cells])
    return lines


@figure
def tier_times() -> list[list[str]]:
    """What a certificate costs, tier by tier."""
    found: dict[str, dict[str, Row]] = {}
    for row in (*rows("certificates/cnn"), *rows("certificates/bilstm")):
        if row.get("scale") == 1.0:
            found.setdefault(row["run"], {})[row["tier"]] = row
    return [
        [run, *(f"{tiers[tier]['median_milliseconds']:.1f}" if tier in tiers else "" for tier in TIERS)]
        for run, tiers in found.items()
    ]


@figure
def dense_and_closed_bounds() -> list[list[str]]:
    """The totals in closed form against dense sums."""
    names = (
        "closed form",
        "sum over the dense factorised tensor (same value, same gradient)",
        "sum over the dense signed tensor",
    )
    lines = []
    for name, row in zip(names, _bounds_of("LSTM"), strict=True):
        spent = row["milliseconds"]
        shown = f"{spent:,.0f}" if spent > 1e3 else f"{spent:.2f}"
        lines.append([name, f"{shown} ms", f"{row['ratio']:,.0f}"])
    return lines


@figure
def bounds_beside_a_step() -> list[list[str]]:
    """The totals in closed form against a training step."""
    names = ("one training step", "both totals, over a box of words", "both totals, over all reals")
    lines = []
    for name, row in zip(names, _bounds_of("CNN"), strict=True):
        whole = row["ratio"] == 1
        spent = f"{row['milliseconds']:,.{0 if whole else 1}f} ms"
        lines.append([name, spent, "100 %" if whole else f"{percent(row['ratio'], 2)} %"])
    return lines


def _bounds_of(layer: str) -> list[Row]:
    return [row for row in rows("speed/bounds") if row.get("layer") == layer]


@figure
def growing_bounds() -> list[list[str]]:
    """The cost of both totals by the sizes of a layer."""
    return [
        [row["grows"], ", ".join(f"{size}: {cost:.1f}" for size, cost in row["points"])]
        for row in rows("speed/bounds")
        if "grows" in row
    ]


@figure
def beside_openattack() -> list[list[str]]:
    """Attacks of sgbt beside OpenAttack's."""
    lines = []
    for kind, model in NAMES.items():
        for victim, shown in (("plain", "plain"), ("sgbt", "our own")):
            lines += [
                [f"{model}, `{row['method']}`", shown, *_against(row)]
                for row in rows("speed/attacks-openattack")
                if (row["model"], row["victim"]) == (kind, victim)
            ]
    return lines


@figure
def beside_textattack() -> list[list[str]]:
    """Attacks of sgbt beside TextAttack's."""
    return [
        [f"{NAMES[row['model']]}, `{row['method']}`", *_against(row)]
        for row in rows("speed/attacks-textattack")
        if row["victim"] == "plain"
    ]


@figure
def ngram_attacks() -> list[list[str]]:
    """Attacks on a BagOfNgrams with its query engine and without one."""
    return [
        [
            f"`{row['method']}`, {'reviews' if row['data'] == 'imdb' else 'sentences'}",
            f"{1000 * row['seconds']:.1f}",
            f"{1000 * row['plain_seconds']:.0f}",
            f"{row['plain_seconds'] / row['seconds']:.0f}",
            f"{row['plain_asked'] / row['asked']:.0f}",
        ]
        for row in (*rows("speed/attacks-ngrams"), *rows("speed/attacks-ngrams-sentences"))
    ]


def _against(row: Row) -> list[str]:
    ours, theirs = row["seconds"], row["their_seconds"]
    return [f"{row['broken']} / {row['their_broken']}", f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.0f}"]


@figure
def attack_seeds() -> list[list[str]]:
    """The attacks that draw, over five seeds."""
    return [
        [f"`{row['method']}`", *(", ".join(map(str, row[key])) for key in ("broken_by_seed", "their_broken_by_seed"))]
        for row in rows("speed/attacks-seeds")
    ]


@figure
def waiting_for_certificates() -> list[list[str]]:
    """How long a user waits."""
    whole, each, peak = rows("speed/certify")
    waited = 1e3 * median(each["wall_seconds"])
    texts = f"all tiers, tokenising and word tables included, per review of {each['texts']:,}, median of five runs"
    return [
        ["tier `ibp`, all 25,000 test reviews", f"{whole['whole_seconds']:.0f} s"],
        [texts, f"{waited / each['texts']:.1f} ms"],
        [f"the same, per review of the {each['correct']} that are right", f"{waited / each['correct']:.1f} ms"],
        ["the tiers alone, of one core, per review that is right", f"{each['mean_milliseconds']:.1f} ms"],
        ["most memory in use", f"{peak['peak_gigabytes']:.1f} GB"],
    ]


@figure
def clean_of_the_timed_run() -> str:
    """The clean accuracy of the run whose certificates were timed."""
    clean = rows("speed/certify")[0]["clean"]
    return percent(clean["count"] / clean["total"])


@figure
def agreement() -> list[list[str]]:
    """Substitution tables made here beside the published one."""
    return [
        [
            row["table"],
            f"{row['pairs']:,}",
            *(f"{percent(row['shared'] / row[of])} %" for of in ("pairs", "published")),
        ]
        for row in rows("speed/agreement")
    ]


@figure
def replaceable(name: str) -> str:
    """SET: the share of the words of the test reviews that have substitutes in this set."""
    row = row_with("sets", set=name)
    return percent(row["replaceable"] / row["words"])


@figure
def combinations(name: str) -> str:
    """SET: the texts that the median review can become."""
    return f"10^{row_with('sets', set=name)['log10_combinations']:.0f}"


SERVERS = {"against": "commit eb3b172", "one by one": "without batches", "batches": "as it is"}


@figure
def requests_a_second() -> list[list[str]]:
    """What `/predict` answers under load, beside the server of an old commit."""
    return [
        [
            *(str(row[key]) for key in ("words", "clients", "texts")),
            SERVERS[row["server"]],
            *(f"{row[key]:.0f}" for key in ("requests_per_second", "p50_ms", "p99_ms")),
            f"{row['cpu_ms']:.2f}",
            f"{row['ratio']:.1f}" if row["texts"] == 1 else "",
        ]
        for row in rows("speed/serve")
    ]
