"""docs/theory/certificates.md: of the time when NaN was sorted last, no row of a BiLSTM has a budget or a radius."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AFFECTED = ("by_budget", "max_substitutions", "radius")
"""What a row has if its bounds were selected from or sorted: for any number of words they are added up."""


def fields(value: object) -> Iterator[tuple[str, object]]:
    """Every field of a row, however deep, with what it holds."""
    if isinstance(value, dict):
        for name, held in value.items():
            yield name, held
            yield from fields(held)
    elif isinstance(value, list):
        for each in value:
            yield from fields(each)


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="rows stand in the repository, not in a distribution")
def test_no_row_of_a_bilstm_has_a_budget_or_a_radius() -> None:
    looked_at, limited = 0, 0
    for path in sorted((ROOT / "results").rglob("*.jsonl")):
        if "threats" in path.parts:  # made later, by other code: paths of edits, not separable bounds
            continue
        for line in path.read_text().splitlines():
            row = json.loads(line)
            looked_at += 1
            if any(name in AFFECTED and held not in (None, {}, []) for name, held in fields(row)):
                limited += 1
                kind = str(row.get("run", row.get("model", "")))
                assert kind.startswith(("cnn", "linear", "grams", "logistic")), (path.name, kind)
    assert looked_at > 200
    assert limited >= 4
