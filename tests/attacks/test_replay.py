"""Attacks made again: a failure that is none is found, and what cannot be made again is said to be so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests import small

from sgbt.attacks import AttackResult, attack
from sgbt.bridges.card_attacks import replay
from sgbt.core.errors import ForgedRowError
from sgbt.core.registry import ATTACKS
from sgbt.models import TextClassifier

TEXTS = small.dataset(test=40).test


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


def buried(row: AttackResult) -> AttackResult:
    """A success rewritten as a failure in every field; only another attack can tell."""
    return replace(row, status="failed", after=row.label, swaps=(), perturbed=row.original)


@pytest.mark.parametrize("method", ATTACKS)
def test_every_method_comes_to_the_same(classifier: TextClassifier, method: str) -> None:
    rows = attack(classifier, TEXTS, small.TABLE, method=method, seed=2, max_queries=60)
    found = replay(classifier, rows, small.TABLE, sample=None, seed=0)
    failed = sum(row.status == "failed" for row in rows)
    assert (found.failed, found.again, found.reason) == (failed, failed, "")


def test_a_buried_success_is_found(classifier: TextClassifier) -> None:
    rows = attack(classifier, TEXTS, small.TABLE, method="greedy")
    (place, *_) = (place for place, row in enumerate(rows) if row.status == "success")
    rows[place] = buried(rows[place])
    with pytest.raises(ForgedRowError, match=rf"text {place},?.*failed.*breaks"):
        replay(classifier, rows, small.TABLE, sample=None, seed=0)
    seeds = range(60)
    found = sum(_is_found(classifier, rows, seed) for seed in seeds)
    assert 0 < found < len(seeds)  # a sample of four of some thirty rows


def _is_found(classifier: TextClassifier, rows: list[AttackResult], seed: int) -> bool:
    try:
        return replay(classifier, rows, small.TABLE, sample=4, seed=seed).again != 4
    except ForgedRowError:
        return True


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"options": None}, "do not say their options"),
        ({"method": "theirs"}, "no method of this version"),
        ({"options": {"max_changed": "x"}}, "no method of this version"),
        ({"options": {"depth": 2}}, "no method of this version"),
        ({"table_hash": "0" * 64}, "another table"),
        ({"table_hash": ""}, "do not name their table"),
    ],
)
def test_what_cannot_be_made_again_is_said(classifier: TextClassifier, changes: dict[str, Any], reason: str) -> None:
    rows = [replace(row, **changes) for row in attack(classifier, TEXTS, small.TABLE, method="greedy")]
    found = replay(classifier, rows, small.TABLE, sample=None, seed=0)
    assert found.again == 0
    assert reason in found.reason
