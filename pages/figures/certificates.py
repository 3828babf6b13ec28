"""Figures of results/certificates, and of the rounding allowances of all runs."""

from __future__ import annotations

import math

from pages.registry import figure
from pages.rows import RESULTS, Row, methods, percent, rows

FILES = ("certificates/cnn", "certificates/bilstm")
TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "exact", "any")
BUDGETS = (0, 1, 2, 4, 8, 16, 32, 64, -1)


@figure
def certified_by_tier() -> list[list[str]]:
    """One line for every run and scale: the texts that are right, and how many of them each tier certifies."""
    found: dict[tuple[str, float], dict[str, Row]] = {}
    for path in FILES:
        for row in rows(path):
            if "tier" in row:
                found.setdefault((row["run"], row["scale"]), {})[row["tier"]] = row
    lines = []
    for (run, scale), tiers in found.items():
        counts = [f"{tiers[tier]['certified']}" if tier in tiers else "" for tier in TIERS]
        milliseconds = f"{tiers['any']['median_milliseconds']:.0f}"
        lines.append([run, f"{scale}", f"{tiers['any']['of']}", *counts, milliseconds])
    return lines


@figure
def certified_by_budget() -> list[list[str]]:
    """One line for every run: the share of all texts that is certified while at most n words are replaced."""
    curves = {row["run"]: row["by_budget"] for path in FILES for row in rows(path) if "by_budget" in row}
    return [[run, *(percent(curve[str(budget)]) for budget in BUDGETS)] for run, curve in curves.items()]


@figure
def certified_by_any_tier(run: str) -> str:
    """RUN: how many texts some tier certifies, substitutes at their full distance."""
    (row,) = [
        row
        for path in FILES
        for row in rows(path)
        if (row.get("run"), row.get("scale"), row.get("tier")) == (run, 1.0, "any")
    ]
    return f"{row['certified']}"


@figure
def greatest_slack(model: str) -> str:
    """MODEL: the greatest rounding allowance of its runs in results/, rounded up to one digit."""
    folders = sorted(path.parent.name for path in RESULTS.glob("*/records.jsonl"))
    slack = max(
        record.metrics["certified_slack"]
        for folder in folders
        if folder != "imdb-two-channel"  # networks beside a linear model have that model's allowance
        for own in methods(folder)
        for record in own.records
        if record.model == model
    )
    size = 10.0 ** math.floor(math.log10(slack))
    return f"{math.ceil(slack / size) * size:g}".replace("e-0", "e-")
