"""Threats against enumeration, for as long as one likes: `pytest -m soak tests/soundness/test_threats.py`."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from tests.soundness.threats import campaign, run_case


def test_some_cases() -> None:
    counts: Counter[str] = Counter()
    for number in range(18):
        assert run_case(number, counts) is None
    assert counts["cases"] == 18


@pytest.mark.soak
def test_many_cases() -> None:
    assert campaign(float(os.environ.get("SGBT_SOAK_MINUTES", "60")), first=1000)["strings"] > 1000
