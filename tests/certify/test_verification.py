"""verify: rows that certify wrote are true, and every kind of forged row is found and named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import small
from tests.soundness.worlds import KINDS, classifier_of, text_of

import sgbt
from sgbt.attacks import AttackResult
from sgbt.certify import Certificate, Verdict, certify, read_rows, verify
from sgbt.core.errors import CertificateError, ForgedRowError
from sgbt.models import TextClassifier, weights_hash

TEXTS = small.dataset(test=40).test


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture(scope="module")
def rows(classifier: TextClassifier) -> list[Certificate]:
    return certify(classifier, TEXTS)


@pytest.fixture(scope="module")
def attacks(classifier: TextClassifier) -> list[AttackResult]:
    return sgbt.attack(classifier, TEXTS, small.TABLE, method="greedy")


def test_what_certify_wrote_is_true(
    classifier: TextClassifier, rows: list[Certificate], attacks: list[AttackResult]
) -> None:
    assert {row.verdict for row in rows} >= {Verdict.CERTIFIED, Verdict.ABSTAINED, Verdict.MISCLASSIFIED}
    found = verify(classifier, rows, TEXTS, attacks=attacks)
    assert (found.rows, found.reproven, found.weaker, found.weights_alone) == (len(rows), len(rows), 0, 0)
    assert found.labels
    (shares,) = found.attacked
    assert shares.certified.count == sum(row.stays for row in rows)
    assert shares.certified.count <= shares.robust.count <= shares.clean.count < shares.clean.total == len(rows)


@pytest.mark.parametrize("kind", KINDS[::3])
@pytest.mark.parametrize("budget", [None, 2])
def test_rows_of_every_kind_of_model_are_true(kind: str, budget: int | None) -> None:
    classifier, drawn = classifier_of(kind, 4), random.Random(4)
    assert classifier.table is not None
    texts = [text_of(drawn, length, table=classifier.table, replaceable=0.3) for length in range(12)]
    rows = certify(classifier, texts, max_substitutions=budget)
    found = verify(classifier, rows, texts)
    assert (found.reproven, found.weaker) == (len(texts), 0)


def certified(row: Certificate) -> bool:
    return row.certified


def abstained(row: Certificate) -> bool:
    return row.verdict is Verdict.ABSTAINED


FORGERIES: dict[str, tuple[Callable[[Certificate], bool], Callable[[Certificate], dict[str, Any]], str]] = {
    "certified": (abstained, lambda row: {"verdict": Verdict.CERTIFIED, "margin": 1.0}, "the proof says abstained"),
    "margin": (certified, lambda row: {"margin": row.margin + 1e-6}, "is proven by"),
    "margin of an abstained": (abstained, lambda row: {"margin": row.margin / 2}, "is proven by"),
    "slack": (certified, lambda row: {"slack": row.slack / 2}, "is needed"),
    "radius": (abstained, lambda row: {"radius": row.replaceable}, "radius"),
    "text": (certified, lambda row: {"text_hash": 16 * "0"}, "another text"),
    "table": (certified, lambda row: {"table_hash": 64 * "0"}, "the table"),
    "model": (certified, lambda row: {"model_hash": "id1-" + 64 * "0"}, "the model"),
    "weights of another model": (certified, lambda row: {"model_hash": 64 * "0"}, "the model"),
    "label": (certified, lambda row: {"label": 1 - row.label, "predicted": 1 - row.predicted}, "label"),
    "replaceable": (certified, lambda row: {"replaceable": row.replaceable + 1}, "replaceable"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_row_is_named(classifier: TextClassifier, rows: list[Certificate], name: str) -> None:
    which, change, said = FORGERIES[name]
    place = next(place for place, row in enumerate(rows) if which(row))
    forged = [*rows[:place], replace(rows[place], **change(rows[place])), *rows[place + 1 :]]
    with pytest.raises(ForgedRowError, match=f"text {place},.*{said}"):
        verify(classifier, forged, TEXTS)


def test_a_tier_that_does_not_prove_it_is_named(classifier: TextClassifier, rows: list[Certificate]) -> None:
    """That a row is certified is true; that the cheaper tier proves it is not."""
    row = next(row for row in rows if row.certified and row.tier != "ibp")
    with pytest.raises(ForgedRowError, match=f"text {row.index},?.*tier ibp, which does not prove it; {row.tier} does"):
        verify(classifier, [replace(row, tier="ibp")], TEXTS)
    old = replace(row, tier="ibp", model_hash=weights_hash(classifier.model), unknown=None)
    assert verify(classifier, [old], TEXTS).earlier == 1  # bounds of earlier versions were others


def test_a_dearer_tier_that_proves_it_is_true(classifier: TextClassifier, rows: list[Certificate]) -> None:
    """As rows would be that were written before a cheaper tier became able to prove them."""
    row = next(row for row in rows if row.certified and row.tier == "ibp")
    (dearer,) = certify(classifier, [TEXTS.texts[row.index]], labels=[row.label], tiers=("exact",))
    assert dearer.certified
    assert dearer.margin > row.margin
    assert verify(classifier, [replace(row, tier="exact", margin=dearer.margin)], TEXTS).reproven == 1
    with pytest.raises(ForgedRowError, match="margin"):
        verify(classifier, [replace(row, tier="exact", margin=dearer.margin + 1e-6)], TEXTS)


def test_certify_does_not_go_on_with_a_tier_that_proves_nothing(classifier: TextClassifier, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    certify(classifier, TEXTS[:20], out=out)
    written = [json.loads(line) for line in out.read_text().splitlines()]
    next(row for row in written if row["verdict"] == "certified" and row["tier"] != "ibp")["tier"] = "ibp"
    out.write_text("".join(json.dumps(row) + "\n" for row in written))
    with pytest.raises(ForgedRowError, match="tier ibp, which does not prove it"):
        certify(classifier, TEXTS[:20], out=out)


@pytest.mark.parametrize("kind", KINDS[::3])
@pytest.mark.parametrize("budget", [None, 0, 2])
def test_a_radius_that_is_not_proven_is_named(kind: str, budget: int | None) -> None:
    classifier, drawn = classifier_of(kind, 4), random.Random(4)
    assert classifier.table is not None
    texts = [text_of(drawn, length, table=classifier.table, replaceable=0.3) for length in range(12)]
    rows = certify(classifier, texts, max_substitutions=budget)
    assert verify(classifier, rows, texts).reproven == len(rows)
    for row in rows:
        most = row.replaceable if budget is None else min(row.replaceable, budget)
        radius = -1 if row.radius is None else row.radius
        if radius < most:
            with pytest.raises(ForgedRowError, match=f"text {row.index},?.*radius {radius + 1}, where"):
                verify(classifier, [replace(row, radius=radius + 1)], texts)


def test_rows_about_no_replacement_certify_nothing_and_are_compared(
    classifier: TextClassifier, rows: list[Certificate]
) -> None:
    undecided = next(row.index for row in rows if abstained(row))
    rows = certify(classifier, TEXTS, max_substitutions=0)
    found = verify(classifier, rows, TEXTS)
    assert (found.reproven, found.vacuous) == (len(rows), sum(row.verdict is Verdict.VACUOUS for row in rows))
    assert found.vacuous == sum(row.label == row.predicted for row in rows) > 0
    row = rows[undecided]
    with pytest.raises(ForgedRowError, match="margin"):
        verify(classifier, [replace(row, margin=row.margin + 0.1)], TEXTS)
    wider = replace(row, max_substitutions=None, verdict=Verdict.CERTIFIED, tier="ibp", margin=9.0)
    with pytest.raises(ForgedRowError, match="where the proof says"):
        verify(classifier, [wider], TEXTS)


def test_without_rows_there_is_nothing_to_verify(classifier: TextClassifier) -> None:
    with pytest.raises(CertificateError, match="at least one certificate"):
        verify(classifier, [], TEXTS)


def test_a_text_counts_once(classifier: TextClassifier, rows: list[Certificate]) -> None:
    """One true proof, given a hundred times, is no share of a hundred texts."""
    with pytest.raises(CertificateError, match="one row for each text, got two"):
        verify(classifier, [next(filter(certified, rows))] * 100, TEXTS)


def test_without_labels_a_turned_prediction_is_found(classifier: TextClassifier, rows: list[Certificate]) -> None:
    turned = replace(rows[0], label=1 - rows[0].label, predicted=1 - rows[0].predicted)
    with pytest.raises(ForgedRowError, match="predicted"):
        verify(classifier, [turned], TEXTS.texts)


def test_a_row_that_claims_less_is_true_and_counted(classifier: TextClassifier, rows: list[Certificate]) -> None:
    modest = [replace(row, margin=-row.margin, verdict=Verdict.ABSTAINED) if row.certified else row for row in rows]
    found = verify(classifier, modest, TEXTS)
    assert found.weaker == sum(row.certified for row in rows)


def test_rows_of_earlier_versions_are_accepted_and_counted(classifier: TextClassifier, rows: list[Certificate]) -> None:
    """They name the weights alone and do not count unknown words; their slack was measured, and may have been less."""
    old = [replace(row, model_hash=weights_hash(classifier.model), unknown=None) for row in rows]
    found = verify(classifier, old, TEXTS)
    assert (found.weights_alone, found.earlier) == (len(rows), 0)
    thin = [replace(row, slack=row.slack / 2) for row in old if row.certified]
    assert verify(classifier, thin, TEXTS).earlier == len(thin)


def test_a_sample_proves_so_many_and_finds_what_it_draws(classifier: TextClassifier, rows: list[Certificate]) -> None:
    assert verify(classifier, rows, TEXTS, sample=7).reproven == 7
    assert verify(classifier, rows, TEXTS, sample=0.25).reproven == 10
    assert verify(classifier, rows, TEXTS, sample=1000).reproven == len(rows)
    forged = [replace(row, margin=row.margin + 1.0) if row.certified else row for row in rows]
    with pytest.raises(ForgedRowError):
        verify(classifier, forged, TEXTS, sample=20, seed=3)
    for wrong in (0, -1, 1.5):
        with pytest.raises(CertificateError, match="sample"):
            verify(classifier, rows, TEXTS, sample=wrong)


def test_attack_rows_are_asked_again_and_compared(
    classifier: TextClassifier, rows: list[Certificate], attacks: list[AttackResult]
) -> None:
    broken = next(result for result in attacks if result.status == "success")
    proof = rows[broken.index]
    promised = replace(proof, verdict=Verdict.CERTIFIED, margin=1.0)
    with pytest.raises(ForgedRowError, match=f"text {broken.index}\\b"):  # even if its own proof was not drawn
        verify(classifier, [promised], TEXTS, attacks=attacks, sample=1)
    others = [promised if row.index == broken.index else row for row in rows]
    with pytest.raises(ForgedRowError, match=f"text {broken.index} unbroken"):
        _without_proofs(classifier, others, attacks)
    failed = next(result for result in attacks if result.status == "failed")
    turned = replace(failed, label=1 - failed.label, after=1 - failed.after)
    with pytest.raises(ForgedRowError, match=f"text {failed.index},?.*this model contradicts"):
        verify(classifier, rows, TEXTS.texts, attacks=[turned])
    with pytest.raises(ForgedRowError, match="attacks on the model"):
        verify(classifier, rows, TEXTS, attacks=[replace(failed, model_hash="id1-0")])


def _without_proofs(classifier: TextClassifier, rows: list[Certificate], attacks: list[AttackResult]) -> None:
    """Only what rows say of each other."""
    from sgbt.certify.rows.attacked import check_attacks

    check_attacks(classifier, rows, attacks, small.TABLE, dict(enumerate(TEXTS.texts)))


def test_a_row_whose_text_is_missing_is_no_lie_but_an_error(
    classifier: TextClassifier, rows: list[Certificate]
) -> None:
    with pytest.raises(CertificateError, match="--texts") as told:
        verify(classifier, rows, TEXTS.texts[:3])
    assert not isinstance(told.value, ForgedRowError)


def test_certify_does_not_take_over_forged_rows(classifier: TextClassifier, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    certify(classifier, TEXTS[:10], out=out)
    assert len(certify(classifier, TEXTS, out=out)) == len(TEXTS)
    written = [json.loads(line) for line in out.read_text().splitlines()]
    for row in written[:10]:
        if row["verdict"] == "abstained":
            row |= {"verdict": "certified", "margin": 1.0}
    assert any(row["margin"] == 1.0 for row in written)
    out.write_text("".join(json.dumps(row) + "\n" for row in written[:10]))
    before = out.read_bytes()
    with pytest.raises(ForgedRowError, match=r"rows\.jsonl"):
        certify(classifier, TEXTS, out=out)
    assert out.read_bytes() == before
    assert len(read_rows(out)) == 10
