"""Certificates against a threat are proven again: what is forged is named, what is true passes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.certify.test_edits import classifier_of
from tests.soundness import worlds

from sgbt.attacks import attack
from sgbt.certify import certify, verify
from sgbt.certify.certificate import Verdict
from sgbt.certify.edits import ThreatCertificate, certify_against
from sgbt.certify.rows.attacked import check_attacks
from sgbt.core.errors import CertificateError, ForgedRowError
from sgbt.threats import SubstitutionTable, Threat

CLASSIFIER = classifier_of(2, classes=3, scale=0.3)
THREAT = Threat.typos(1) | Threat.deletions("any", at_most=1)
TEXTS = dict(enumerate(["ab a", "b ab ba a", "q", "", "aa bb - a", "abb a5 b", "ba", "a b a"]))
ROWS = certify_against(CLASSIFIER, list(TEXTS.values()), THREAT)


def test_true_rows_pass_and_what_was_checked_is_said() -> None:
    found = verify(CLASSIFIER, ROWS, TEXTS, THREAT, labels={row.index: row.label for row in ROWS})
    assert (found.rows, found.reproven, found.seed, found.weaker, found.labels) == (len(ROWS), len(ROWS), None, 0, True)
    sample = verify(CLASSIFIER, ROWS, TEXTS, THREAT, sample=3)
    assert sample.reproven == 3
    assert sample.seed is not None
    assert not sample.labels
    assert {row.verdict for row in ROWS} >= {Verdict.CERTIFIED, Verdict.ABSTAINED}


FORGERIES: dict[str, Any] = {
    "margin": lambda row: {"margin": row.margin + 1e-6},
    "words": lambda row: {"words": row.words + 1},
    "edits": lambda row: {"edits": row.edits + 1},
    "the model": lambda row: {"model_hash": "id1-" + 64 * "0"},
    "hash of another text": lambda row: {"text_hash": 16 * "0"},
    "with hash 0000": lambda row: {"threat_hash": 64 * "0"},
    "threat 'typos:2": lambda row: {"threat": "typos:2 + delete:1:any"},
    "predicted": lambda row: {"predicted": (row.label + 1) % 3, "verdict": "misclassified"},
    "rounding slack": lambda row: {"slack": row.slack / 2},
    "margin 0.5, where": lambda row: {"margin": 0.5, "verdict": "certified"},
}


@pytest.mark.parametrize("said", FORGERIES)
def test_a_forged_row_is_named(said: str) -> None:
    row = next(row for row in ROWS if row.verdict is Verdict.ABSTAINED)
    forged = [replace(each, **FORGERIES[said](row)) if each is row else each for each in ROWS]
    with pytest.raises(ForgedRowError, match="a true row") as lie:
        verify(CLASSIFIER, forged, TEXTS, THREAT)
    assert said in lie.value.got
    assert lie.value.expected.endswith(f"text {row.index}")


def test_labels_and_threats_that_are_others_are_refused() -> None:
    wrong = {row.index: row.label for row in ROWS} | {2: (ROWS[2].label + 1) % 3}
    with pytest.raises(ForgedRowError, match="label"):
        verify(CLASSIFIER, ROWS, TEXTS, THREAT, labels=wrong)
    with pytest.raises(ForgedRowError, match="the threat"):
        verify(CLASSIFIER, ROWS, TEXTS, Threat.typos(1))
    with pytest.raises(CertificateError, match="the text of row 7"):
        verify(CLASSIFIER, ROWS, {index: TEXTS[index] for index in range(7)}, THREAT)
    with pytest.raises(CertificateError, match="one row for each text"):
        verify(CLASSIFIER, [*ROWS, ROWS[0]], TEXTS, THREAT)
    with pytest.raises(CertificateError, match="at least one"):
        verify(CLASSIFIER, [], TEXTS, THREAT)


def test_a_row_that_claims_less_is_true_and_counted() -> None:
    row = next(row for row in ROWS if row.verdict is Verdict.CERTIFIED)
    less = replace(row, verdict=Verdict.ABSTAINED, margin=-1.0)
    assert verify(CLASSIFIER, [less], TEXTS, THREAT).weaker == 1


def test_verifiers_refuse_rows_of_the_other_kind() -> None:
    with pytest.raises(CertificateError, match="the threat typos:1"):
        verify(CLASSIFIER, ROWS, TEXTS)
    (other,) = certify(CLASSIFIER, ["ab a"], SubstitutionTable({"ab": ["ba"]}))
    with pytest.raises(CertificateError, match="kind threat, got one of kind 'substitutions'"):
        verify(CLASSIFIER, [*ROWS[1:], other], TEXTS, THREAT)


def test_answers_that_are_no_numbers_are_refused() -> None:
    classifier = worlds.classifier_of("linear places", 3)
    with torch.no_grad():
        for name, values in classifier.model.named_parameters():
            if "places" in name:
                values.fill_(1e6)
    with pytest.raises(CertificateError, match="finite logits"):
        certify_against(classifier, ["ba bo bum"], Threat.typos(1))


def test_a_margin_that_is_no_number_is_no_row() -> None:
    with pytest.raises(CertificateError, match="follows"):
        replace(ROWS[0], margin=math.nan)
    assert isinstance(ROWS[0], ThreatCertificate)


ATTACKED = attack(CLASSIFIER, list(TEXTS.values()), threat=THREAT, labels=[row.label for row in ROWS])


def test_attacks_within_the_threat_are_replayed_and_counted() -> None:
    found = verify(CLASSIFIER, ROWS, TEXTS, THREAT, attacks=ATTACKED)
    (shares,) = found.attacked
    assert found.attack_rows == shares.clean.total == len(ROWS)
    assert shares.certified.count == sum(row.stays for row in ROWS) <= shares.robust.count < shares.clean.count
    weaker = attack(CLASSIFIER, list(TEXTS.values()), threat=Threat.typos(1), labels=[row.label for row in ROWS])
    (apart,) = verify(CLASSIFIER, ROWS, TEXTS, THREAT, attacks=weaker).apart
    assert apart.reason == "within the threat typos:1"


BROKEN = next(row for row in ATTACKED if row.status == "success")
CHANGES: dict[str, Any] = {
    "does not allow": {"perturbed": "a completely different text"},
    "where its hash is that of": {"threat": "typos:9"},
    "labels": {"label": BROKEN.after, "after": BROKEN.label},
}


@pytest.mark.parametrize("said", CHANGES)
def test_attack_rows_that_say_what_is_not_so_are_named(said: str) -> None:
    forged = [replace(row, **CHANGES[said]) if row is BROKEN else row for row in ATTACKED]
    with pytest.raises(ForgedRowError, match=f"text {BROKEN.index}\\b") as lie:
        verify(CLASSIFIER, ROWS, TEXTS, THREAT, attacks=forged)
    assert said in lie.value.got


def test_an_attack_within_another_threat_that_breaks_a_certified_text_is_a_contradiction() -> None:
    row = next(row for row in ROWS if row.index == BROKEN.index)
    proven = [replace(row, verdict=Verdict.CERTIFIED, margin=9.0)]  # whether it is true was not drawn
    wider = Threat.typos(1) | Threat.deletions("any", at_most=2)
    other = [replace(BROKEN, threat=wider.name, threat_hash=wider.hash)]
    with pytest.raises(ForgedRowError, match=f"text {row.index} unbroken"):
        check_attacks(CLASSIFIER, proven, other, THREAT, TEXTS)
    beyond = [replace(each, perturbed=f"{each.perturbed} {each.perturbed}") for each in other]
    after = CLASSIFIER.predict([beyond[0].perturbed]).probabilities.argmax()
    if after == BROKEN.after:  # three words more than the threat allows: it says nothing of this text
        assert not check_attacks(CLASSIFIER, proven, beyond, THREAT, TEXTS).shares
