"""The tables of docs/certificates.md follow from the committed rows of benchmarks/certify.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.pages import rows as rows_of

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "results" / "certificates").glob("*.jsonl"))
TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "exact", "any")
BUDGETS = (0, 1, 2, 4, 8, 16, 32, 64, -1)


def tier_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One line for every run and scale: the texts that are right, and how many of them each tier certifies."""
    found: dict[tuple[str, float], dict[str, dict[str, Any]]] = {}
    for row in rows:
        if "tier" in row:
            found.setdefault((row["run"], row["scale"]), {})[row["tier"]] = row
    lines = []
    for (run, scale), tiers in found.items():
        counts = [f"{tiers[tier]['certified']}" if tier in tiers else "" for tier in TIERS]
        milliseconds = tiers["any"]["median_milliseconds"]
        lines.append(f"| {run} | {scale} | {tiers['any']['of']} | {' | '.join(counts)} | {milliseconds:.0f} |")
    return lines


def budget_lines(rows: list[dict[str, Any]]) -> list[str]:
    """One line for every run: the share of all texts that is certified while at most n words are replaced."""
    curves = {row["run"]: row["by_budget"] for row in rows if "by_budget" in row}
    return [
        f"| {run} | {' | '.join(f'{100 * curve[str(budget)]:.1f}' for budget in BUDGETS)} |"
        for run, curve in curves.items()
    ]


def test_every_line_follows_from_rows_and_every_row_is_shown() -> None:
    assert FILES
    page = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    shown = {line for line in page.splitlines() if line.startswith(("| cnn-", "| bilstm-"))}
    made = {line for path in FILES for lines in (tier_lines, budget_lines) for line in lines(rows_of(path))}
    assert shown == made


def test_more_is_never_certified_with_more_words_or_larger_substitutes() -> None:
    for path in FILES:
        rows = rows_of(path)
        for row in rows:
            if "by_budget" in row:
                shares = [row["by_budget"][str(n)] for n in (*range(65), -1)]
                assert shares == sorted(shares, reverse=True)
        best = {(row["run"], row["scale"]): row["certified"] for row in rows if row.get("tier") == "any"}
        for (run, scale), certified in best.items():
            assert all(certified >= other for (name, wider), other in best.items() if name == run and wider >= scale)
