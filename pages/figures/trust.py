"""What a hostile review found, then and now (results/trust)."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import RESULTS, Row, rows


def _text(words: str) -> str:
    return words.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*").replace("[", "\\[").replace("<", "&lt;")


@figure
def trust_before_and_after() -> list[list[str]]:
    """One line for each reproduction: what is tried, what it did then, what it does now."""
    return [
        [row["item"], _text(row["tried"]), *(_mark(row[when]) + _text(row[when]["seen"]) for when in ("before", "now"))]
        for row in rows("trust/before-after")
    ]


@figure
def trust_counts() -> str:
    """How many reproductions show a fault then, and now."""
    found = rows("trust/before-after")
    before, now = (sum(row[when]["fault"] for row in found) for when in ("before", "now"))
    return f"of {len(found)} reproductions {before} show a fault at eb3b172, and {now or 'none'} now."


def _mark(found: Row) -> str:
    return "**fault:** " if found["fault"] else ""


@figure
def bilstm_records_within_budgets(tiers: str = "") -> str:
    """[only ibp | others]: how many records of BiLSTMs say how many texts are certified within so many words."""
    count = 0
    for path in sorted(RESULTS.rglob("*.jsonl")):
        for row in rows(path.relative_to(RESULTS).with_suffix("").as_posix()):
            if row.get("model") == "bilstm" and "certified_by_budget" in row.get("metrics", {}):
                count += {"": True, "only ibp": _only_ibp(row), "others": not _only_ibp(row)}[tiers]
    return str(count)


def _only_ibp(row: Row) -> bool:
    return bool(row["config"]["tiers"] == ["ibp"])
