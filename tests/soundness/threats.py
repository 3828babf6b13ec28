"""Certificates against threats, of every kind of model, against enumeration over strings.

    python -m tests.soundness.threats --minutes 60 [--state counts.json]

A case is made of its number alone: a random model, text and threat. Every string that the threat allows is written,
read by the tokenizer and answered by the model as it is deployed; no margin may be below the one that was proven.
A state file keeps the counts and the next case.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
from tests.certify.test_edits import EDITS, MORE, THREATS, least_by_enumeration
from tests.certify.threat_models import MAKERS, drawn_classifier
from tests.threats.brute_force import versions

from sgbt.certify.edits import certify_against
from sgbt.threats import Threat

ALPHABET = "abq' -.5"
EXACT = ("bag of words",)


def run_case(number: int, counts: Counter[str]) -> str | None:
    """One case; what it contradicts, if anything."""
    drawn = np.random.default_rng(number)
    kind = sorted(MAKERS)[number % len(MAKERS)]
    two = drawn.random() < 0.05
    threats = (*THREATS, *EDITS[1:])
    threat = Threat.typos(2) if two else threats[int(drawn.integers(len(threats)))]
    text = "".join(drawn.choice(list(ALPHABET), size=int(drawn.integers(4 if two else 8))))
    classifier = drawn_classifier(kind, number, max_length=int(drawn.choice([1, 2, 3, 64])))
    right = drawn.random() < 0.9  # else half of the cases are of texts that the model has wrong, which prove nothing
    (row,) = certify_against(classifier, [text], threat, labels=None if right else [int(drawn.integers(2))])
    counts["cases"] += 1
    counts[f"{kind}: {row.verdict}"] += 1
    if row.predicted != row.label:
        return None
    counts["strings"] += len(versions(text, threat, "".join(sorted(set(ALPHABET + MORE)))))
    least, nearly = least_by_enumeration(classifier, text, threat, row.label, ALPHABET), row.slack + 1e-9
    counts[f"{kind}: margin is the least"] += abs(row.margin - least) <= nearly
    if row.margin > least + nearly:
        return f"case {number}, {kind}, {threat.name}, {text!r}: proven {row.margin}, but {least}"
    if kind in EXACT and row.edits and row.margin < least - nearly:
        return f"case {number}, {kind}, {threat.name}, {text!r}: not exact"
    return None


def campaign(minutes: float, state: Path | None = None, *, first: int = 0) -> Counter[str]:
    """Cases for so many minutes; stops at the first violation."""
    known = json.loads(state.read_text()) if state and state.exists() else {"next": first}
    number, counts = known.pop("next"), Counter[str](known)
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        if found := run_case(number, counts):
            raise AssertionError(found)
        number += 1
        if state and number % 50 == 0:
            state.write_text(json.dumps({"next": number, **counts}))
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--state", type=Path)
    given = parser.parse_args()
    for name, count in sorted(campaign(given.minutes, given.state).items()):
        print(f"{name}: {count:,}")
    print("violations: 0")
