"""docs/notebook/trust.md: every reproduction has a row; most show a fault at the reviewed commit, and none now."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "results" / "trust" / "before-after.jsonl"


@pytest.fixture
def reproductions(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of all reproductions that the script knows."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    names = ("_trust_common", "_trust_proofs", "_trust_server")
    for name in names:
        __import__(name)
    found = set(sys.modules["_trust_common"].ITEMS)
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    return found


@pytest.mark.skipif(not ROWS.is_file(), reason="rows stand in the repository, not in a distribution")
def test_every_reproduction_has_a_row_and_none_shows_a_fault_now(reproductions: set[str]) -> None:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert {row["name"] for row in rows} == reproductions
    assert len(rows) == len(reproductions) > 30
    assert not [row["name"] for row in rows if row["now"]["fault"]]
    assert sum(row["before"]["fault"] for row in rows) > 30
    assert {row["item"][0] for row in rows} == {"A", "B", "C"}
    assert {row["item"] for row in rows} >= {f"A{number}" for number in range(1, 8)}
