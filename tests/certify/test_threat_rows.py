"""Certificates against a threat are proven again: what is forged is named, what is true passes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.certify.test_edits import classifier_of
from tests.soundness import worlds

from sgbt.certify import verify
from sgbt.certify.certificate import Verdict
from sgbt.certify.edits import ThreatCertificate, certify_against, verify_against
from sgbt.core.errors import CertificateError, ForgedRowError
from sgbt.threats import Threat

CLASSIFIER = classifier_of(2, classes=3, scale=0.3)
THREAT = Threat.typos(1) | Threat.deletions("any", at_most=1)
TEXTS = dict(enumerate(["ab a", "b ab ba a", "q", "", "aa bb - a", "abb a5 b", "ba", "a b a"]))
ROWS = certify_against(CLASSIFIER, list(TEXTS.values()), THREAT)


def test_true_rows_pass_and_what_was_checked_is_said() -> None:
    found = verify_against(CLASSIFIER, ROWS, TEXTS, THREAT, labels={row.index: row.label for row in ROWS})
    assert (found.rows, found.reproven, found.seed, found.weaker, found.labels) == (len(ROWS), len(ROWS), None, 0, True)
    sample = verify_against(CLASSIFIER, ROWS, TEXTS, THREAT, sample=3)
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
    with pytest.raises(ForgedRowError, match="says what is so") as lie:
        verify_against(CLASSIFIER, forged, TEXTS, THREAT)
    assert said in lie.value.got
    assert f"text {row.index} " in lie.value.expected


def test_labels_and_threats_that_are_others_are_refused() -> None:
    wrong = {row.index: row.label for row in ROWS} | {2: (ROWS[2].label + 1) % 3}
    with pytest.raises(ForgedRowError, match="label"):
        verify_against(CLASSIFIER, ROWS, TEXTS, THREAT, labels=wrong)
    with pytest.raises(ForgedRowError, match="the threat"):
        verify_against(CLASSIFIER, ROWS, TEXTS, Threat.typos(1))
    with pytest.raises(CertificateError, match="the text of row 7"):
        verify_against(CLASSIFIER, ROWS, {index: TEXTS[index] for index in range(7)}, THREAT)
    with pytest.raises(CertificateError, match="one row for each text"):
        verify_against(CLASSIFIER, [*ROWS, ROWS[0]], TEXTS, THREAT)
    with pytest.raises(CertificateError, match="at least one"):
        verify_against(CLASSIFIER, [], TEXTS, THREAT)


def test_a_row_that_claims_less_is_true_and_counted() -> None:
    row = next(row for row in ROWS if row.verdict is Verdict.CERTIFIED)
    less = replace(row, verdict=Verdict.ABSTAINED, margin=-1.0)
    assert verify_against(CLASSIFIER, [less], TEXTS, THREAT).weaker == 1


def test_verifiers_refuse_rows_of_the_other_kind() -> None:
    with pytest.raises(CertificateError, match="one of kind 'threat'"):
        verify(CLASSIFIER, ROWS, TEXTS)  # type: ignore[arg-type]


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
