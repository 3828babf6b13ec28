"""Typing errors with letters that are read in odd ways, in texts and put in, against enumeration over strings."""

from __future__ import annotations

import random

import pytest
from tests.certify import test_edits as edits

from sgbt.certify.certificate import Verdict
from sgbt.certify.edits import certify_against

LETTERS = "ab'k -.iİıſKǅǆßẞ\u0307_\u200d\n\0’ʼªº²½Ⅷä\u0308ﬁ𝐚٣ΣςσΩ\ud800"
"""Letters whose lower case is several, or another alphabet's; marks, signs, and half a character."""
WORDS = (*edits.WORDS, "aſ", "k", "ǆ", "i", "ς", "σ", "_", "½", "a²", "i̇")


def test_margins_are_the_least_of_all_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "WORDS", WORDS)
    compared = 0
    for number in range(60):
        drawn = random.Random(number)
        text = "".join(drawn.choice(LETTERS) for _ in range(drawn.randint(0, 4)))
        threat = drawn.choice(edits.THREATS)
        classifier = edits.classifier_of(number, classes=2 + number % 3, max_length=drawn.choice([1, 2, 64]))
        (row,) = certify_against(classifier, [text], threat, labels=[drawn.randrange(2)])
        if row.verdict in (Verdict.CERTIFIED, Verdict.ABSTAINED):
            compared += 1
            least = edits.least_by_enumeration(classifier, text, threat, row.label, LETTERS)
            assert row.margin == pytest.approx(least, rel=0, abs=1e-9), (number, text, threat.name)
    assert compared > 15
