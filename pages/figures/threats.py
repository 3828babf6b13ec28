"""Proofs against other threats than substitution (results/threats)."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import percent, rows


@figure
def threat_rows(name: str, what: str) -> str:
    """NAME clean|certified: a share of the texts of results/threats/NAME.jsonl, in percent."""
    found = rows(f"threats/{name}")
    right = [row for row in found if row["predicted"] == row["label"]]
    counted = {"clean": right, "certified": [row for row in right if row["verdict"] == "certified"]}
    return percent(len(counted[what]) / len(found))


@figure
def imdb_threat(part: str, what: str) -> str:
    """PART clean|certified: a share of the texts of results/threats/imdb.jsonl under the threat with that name."""
    (row,) = [row for row in rows("threats/imdb") if part in row["threat"]]
    return percent(row[what] / row["texts"])
