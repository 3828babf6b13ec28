"""docs/theory/certificates.md: of the time when NaN was sorted last, no published figure within a budget can be wrong.

A row is open to that fault if it counts what is certified within some words, its model is a BiLSTM, and a tier with
interval gradients was tried; the fault can only add certificates, so a row that counts none is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMITED = ("by_budget", "certified_by_budget", "max_substitutions", "radius")
"""What a row has if its bounds were selected from or sorted: for any number of words they are added up."""
FINITE = ("cnn", "linear", "grams", "logistic")
"""Models whose bounds cannot overflow."""


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
def test_no_published_figure_within_a_budget_is_open_to_the_fault() -> None:
    limited, networks, with_gradients = 0, 0, 0
    for path in sorted((ROOT / "results").rglob("*.jsonl")):
        if "threats" in path.parts:  # made later, by other code: paths of edits, not separable bounds
            continue
        for line in path.read_text().splitlines():
            row = json.loads(line)
            held = {name: value for name, value in fields(row) if name in LIMITED and value not in (None, {}, [])}
            limited += bool(held)
            kind = str(row.get("run", row.get("model", "")))
            if not held or kind.startswith(FINITE):
                continue
            assert (kind, [*held]) == ("bilstm", ["certified_by_budget"]), (path.name, kind, [*held])
            networks += 1
            if row["config"]["tiers"] != ["ibp"]:
                with_gradients += 1
                counts = held["certified_by_budget"]
                assert isinstance(counts, dict)
                assert not any(count for budget, count in counts.items() if budget != "0"), (path.name, row["label"])
    assert limited > 250
    assert networks > with_gradients > 0
    stated = " ".join((ROOT / "docs" / "theory" / "certificates.md").read_text().split())
    assert f"-->{networks}<!-- end --> records of BiLSTMs: " in stated
    assert (
        f"-->{with_gradients}<!-- end --> certify no text within any budget. So no published figure is affected."
        in stated
    )
