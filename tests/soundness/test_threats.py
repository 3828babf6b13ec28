"""Threats against enumeration, for as long as one likes: `pytest -m soak tests/soundness/test_threats.py`."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from tests.certify.test_edits import THREATS, classifier_of, least_by_enumeration

from sgbt.certify.edits import certify_against
from sgbt.threats import Threat

ALPHABET = "abq' -.5"


def run_case(number: int) -> None:
    """A random bag of words, text and threat: the margin is the least one over all strings."""
    drawn = np.random.default_rng(number)
    threat = Threat.typos(2) if number % 5 == 0 else THREATS[int(drawn.integers(len(THREATS)))]
    longest = 4 if number % 5 == 0 else 7
    text = "".join(drawn.choice(list(ALPHABET), size=int(drawn.integers(longest + 1))))
    classifier = classifier_of(number, classes=2 + number % 3, max_length=int(drawn.choice([1, 2, 64])))
    label = int(drawn.integers(2))
    (row,) = certify_against(classifier, [text], threat, labels=[label])
    least = least_by_enumeration(classifier, text, threat, label, ALPHABET)
    if row.predicted == row.label:
        assert abs(row.margin - least) < 1e-9, (number, text, threat.name)


def test_some_cases() -> None:
    for number in range(20):
        run_case(number)


@pytest.mark.soak
def test_many_cases() -> None:
    number, end = 1000, time.monotonic() + 60 * float(os.environ.get("SGBT_SOAK_MINUTES", "60"))
    while time.monotonic() < end:
        run_case(number)
        number += 1
    assert number > 1000
