"""Figures of speed in the documents follow from the rows that benchmarks wrote into results/speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.report.pages import is_a_whole_table, rows

ROOT = Path(__file__).parents[2]
SPEED = ROOT / "results" / "speed"
MODELS = ("TextCNN", "BiLSTM")
NAMES = {"cnn": "TextCNN", "bilstm": "BiLSTM"}
OBJECTIVES = ("gbm", "sgbt", "sem", "ibp", "certified", "atfl", "ascc")
EPOCH = 25_000
Row = dict[str, Any]


def rows_of(name: str) -> list[Row]:
    return rows(f"speed/{name}.jsonl")


def the(rows: list[Row], **wanted: object) -> Row:
    """The one row that has these values; the first, where a base was measured in several groups."""
    return next(row for row in rows if all(row.get(name) == value for name, value in wanted.items()))


def times(ratio: float) -> str:
    return f"{ratio:.2f} x" if ratio < 2 else f"{ratio:.1f} x"


def steps() -> list[str]:
    """docs/training.md: a step of every objective against a standard one."""
    rows = rows_of("training")
    lines = []
    for way in OBJECTIVES:
        found = [times(the(rows, model=model, title="one step", way=way)["ratio"]) for model in MODELS]
        lines.append(f"| {way} | {' | '.join(found)} |")
    padded = [times(the(rows, model=model, way="padded to 512")["ratio"]) for model in MODELS]
    return [*lines, f"| standard, every text padded to 512 words | {' | '.join(padded)} |"]


def epochs() -> list[str]:
    """docs/results.md: what an epoch costs, and each text of it."""
    rows = rows_of("training")
    lines = []
    for way in ("standard", *OBJECTIVES):
        cells = []
        for model in MODELS:
            row = the(rows, model=model, title="one step", way=way)
            text = row["mean_milliseconds"] / row["texts"]
            cells += [f"{EPOCH * text / 1e3:,.0f}", f"{text:.1f}"]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return lines


def tiers() -> list[str]:
    """docs/results.md: what a certificate costs, tier by tier."""
    found: dict[str, dict[str, Row]] = {}
    for row in (*rows("certificates/cnn.jsonl"), *rows("certificates/bilstm.jsonl")):
        if row.get("scale") == 1.0:
            found.setdefault(row["run"], {})[row["tier"]] = row
    lines = []
    for run, by_tier in found.items():
        cells = [
            f"{by_tier[tier]['median_milliseconds']:.1f}" if tier in by_tier else ""
            for tier in ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "exact")
        ]
        lines.append(f"| {run} | {' | '.join(cells)} |")
    return lines


def bounds() -> list[str]:
    """docs/paper.md: the totals in closed form against dense sums, and against a step."""
    rows = [row for row in rows_of("bounds") if row.get("layer") == "LSTM"]
    names = ("closed form", "sum over the dense factorised tensor (same value, same gradient)")
    lines = []
    for name, row in zip((*names, "sum over the dense signed tensor"), rows, strict=True):
        spent = row["milliseconds"]
        lines.append(f"| {name} | {f'{spent:,.0f}' if spent > 1e3 else f'{spent:.2f}'} ms | {row['ratio']:,.0f} |")
    return lines


def bounds_beside_a_step() -> list[str]:
    rows = [row for row in rows_of("bounds") if row.get("layer") == "CNN"]
    names = ("one training step", "both totals, over a box of words", "both totals, over all reals")
    shares = ["100 %", *(f"{100 * row['ratio']:.2f} %" for row in rows[1:])]
    spent = [f"{row['milliseconds']:,.0f}" if row["ratio"] == 1 else f"{row['milliseconds']:.1f}" for row in rows]
    return [f"| {name} | {shown} ms | {share} |" for name, shown, share in zip(names, spent, shares, strict=True)]


def growing_bounds() -> list[str]:
    return [
        f"| {row['grows']} | {', '.join(f'{size}: {cost:.1f}' for size, cost in row['points'])} |"
        for row in rows_of("bounds")
        if "grows" in row
    ]


def attacks() -> list[str]:
    """docs/attacks.md: sgbt beside OpenAttack."""
    lines = []
    for kind, model in NAMES.items():
        for victim, shown in (("plain", "plain"), ("sgbt", "our own")):
            for row in rows_of("attacks-openattack"):
                if (row["model"], row["victim"]) == (kind, victim):
                    broken = f"{row['broken']} / {row['their_broken']}"
                    ratio = f"{row['their_seconds'] / row['seconds']:.0f}"
                    lines.append(
                        f"| {model}, `{row['method']}` | {shown} | {broken} | {row['seconds']:.3f} | "
                        f"{row['their_seconds']:.2f} | {ratio} |"
                    )
    return lines


def seeds() -> list[str]:
    """docs/attacks.md: the attacks that draw, over five seeds."""
    return [
        f"| `{row['method']}` | {', '.join(map(str, row['broken_by_seed']))} | "
        f"{', '.join(map(str, row['their_broken_by_seed']))} |"
        for row in rows_of("attacks-seeds")
    ]


def textattack() -> list[str]:
    """docs/attacks.md: sgbt beside TextAttack."""
    return [
        f"| {NAMES[row['model']]}, `{row['method']}` | {row['broken']} / {row['their_broken']} | "
        f"{row['seconds']:.3f} | {row['their_seconds']:.2f} | {row['their_seconds'] / row['seconds']:.0f} |"
        for row in rows_of("attacks-textattack")
        if row["victim"] == "plain"
    ]


def certificates() -> list[str]:
    """docs/certificates.md: how long a user waits."""
    whole, each, peak = rows_of("certify")
    waited = 1e3 * median(each["wall_seconds"])
    return [
        f"| tier `ibp`, all 25,000 test reviews | {whole['whole_seconds']:.0f} s |",
        f"| all tiers, tokenising and word tables included, per review of {each['texts']:,}, median of five runs | "
        f"{waited / each['texts']:.1f} ms |",
        f"| the same, per review of the {each['correct']} that are right | {waited / each['correct']:.1f} ms |",
        f"| the tiers alone, of one core, per review that is right | {each['mean_milliseconds']:.1f} ms |",
        f"| most memory in use | {peak['peak_gigabytes']:.1f} GB |",
    ]


def agreement() -> list[str]:
    """docs/substitutions.md: the table made here beside the published one."""
    return [
        f"| {row['table']} | {row['pairs']:,} | {100 * row['shared'] / row['pairs']:.1f} % | "
        f"{100 * row['shared'] / row['published']:.1f} % |"
        for row in rows_of("agreement")
    ]


@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("training", steps),
        ("results", epochs),
        ("results", tiers),
        ("paper", bounds),
        ("paper", bounds_beside_a_step),
        ("paper", growing_bounds),
        ("attacks", attacks),
        ("attacks", seeds),
        ("attacks", textattack),
        ("certificates", certificates),
        ("substitutions", agreement),
    ],
)
def test_a_table_of_speed_follows_from_rows(page: str, made: Callable[[], list[str]]) -> None:
    lines = made()
    assert len(lines) >= 2
    assert is_a_whole_table(lines, (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


def test_rows_tell_what_made_them() -> None:
    for path in SPEED.glob("*.jsonl"):
        for row in rows_of(path.stem):
            assert row["command"].startswith("python benchmarks/")
            assert len(row["commit"]) == 40
            assert row["cores"] >= 1
