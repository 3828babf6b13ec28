"""Figures follow from rows, with the right denominators."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sgbt.attacks import AttackResult, Swap
from sgbt.certify import Certificate, Verdict
from sgbt.evaluate.metrics import AttackFigures, Mean, certified_figures, certified_within, weakest_words


def result(index: int, status: str, *, swaps: int = 0, queries: int = 10) -> AttackResult:
    words = tuple(Swap(place, "old", f"new{place}") for place in range(swaps))
    after = {"success": 1, "failed": 0, "skipped": 1}[status]
    return AttackResult(index, "pwws", status, 0, after, "a b c d", "a b c d", words, 4, queries, 0.5, 0)


RESULTS = [
    result(0, "failed"),
    result(1, "failed", queries=30),
    result(2, "success", swaps=1, queries=20),
    result(3, "skipped", queries=0),
    result(4, "success", swaps=3, queries=20),
]


def test_the_two_denominators_are_told_apart() -> None:
    figures = AttackFigures.of(RESULTS).to_json()
    assert (figures["robust_accuracy"], figures["robust_count"], figures["robust_total"]) == (2 / 5, 2, 5)
    assert (figures["aua"], figures["aua_count"], figures["aua_total"]) == (2 / 4, 2, 4)
    assert (figures["success_rate"], figures["success_count"], figures["success_total"]) == (2 / 4, 2, 4)
    low, high = figures["robust_interval"]
    assert low < 0.4 < high
    assert (figures["queries"], figures["queries_total"]) == (20, 4)
    assert (figures["words_changed"], figures["words_changed_total"]) == (0.5, 2)


def test_nothing_measured_is_null_and_not_zero() -> None:
    figures = AttackFigures.of([result(0, "skipped")]).to_json()
    assert figures["robust_accuracy"] == 0
    assert figures["aua"] is None
    assert figures["queries"] is None


def proof(index: int, *, margin: float, predicted: int = 0, radius: int | None = None) -> Certificate:
    right, proven = predicted == 0, margin > 0
    verdict = Verdict.CERTIFIED if right and proven else Verdict.ABSTAINED if right else Verdict.MISCLASSIFIED
    return Certificate(
        index, verdict, 0, predicted, margin, "ibp", 0.0, 9, 9, 5, "t", "m", "x", ("ibp",), None, radius,
        milliseconds={"ibp": 2.0},
    )  # fmt: skip


def test_certified_accuracy_is_of_all_texts_and_falls_with_the_budget() -> None:
    proofs = [
        proof(0, margin=1.0, radius=5),
        proof(1, margin=-1.0, radius=2),
        proof(2, margin=-1.0),
        proof(3, margin=-1.0, predicted=1),
    ]
    figures = certified_figures(proofs)
    assert (figures["certified_count"], figures["certified_total"]) == (1, 4)
    assert [sum(certified_within(proofs, budget)) for budget in (0, 1, 2, 3, 50)] == [3, 2, 2, 1, 1]
    limited = [replace(proofs[0], max_substitutions=3, radius=3)]
    assert [sum(certified_within(limited, budget)) for budget in (3, 4)] == [1, 0]


def test_texts_with_nothing_to_replace_are_counted_apart() -> None:
    fixed = replace(proof(0, margin=1.0), replaceable=0, verdict=Verdict.VACUOUS, radius=0)
    proofs = [fixed, proof(1, margin=1.0, radius=5), proof(2, margin=-1.0, predicted=1)]
    figures = certified_figures(proofs)
    assert (figures["certified_count"], figures["vacuous_count"], figures["vacuous_total"]) == (1, 1, 3)
    assert [sum(certified_within(proofs, budget)) for budget in (0, 1, 50)] == [2, 1, 1]


def test_the_weakest_words_count_texts_that_broke() -> None:
    assert weakest_words(RESULTS) == [["old", "new0", 2], ["old", "new1", 1], ["old", "new2", 1]]


@pytest.mark.parametrize(("values", "half"), [([1.0, 3.0], 12.706), ([1.0, 2.0, 3.0], 4.303 / math.sqrt(3))])
def test_a_mean_has_students_interval(values: list[float], half: float) -> None:
    mean = Mean.of(values)
    low, high = mean.interval
    assert mean.value == 2
    assert (high - low) / 2 == pytest.approx(half, rel=1e-4)


def test_a_mean_of_many_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = [math.sin(place) for place in range(77)]
    low, high = Mean.of(values).interval
    wanted = stats.t.interval(0.95, 76, loc=Mean.of(values).value, scale=stats.sem(values))
    assert (low, high) == pytest.approx(wanted, rel=1e-4)


def test_a_mean_of_one_claims_no_interval() -> None:
    assert Mean.of([2.0]).interval == (-math.inf, math.inf)
    assert Mean.of([]).count == 0
