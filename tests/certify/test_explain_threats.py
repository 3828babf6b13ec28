"""Explanations of threats: what is found is a version of the text, and never below what is proven."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certify.test_edits import EDITS, THREATS
from tests.certify.threat_models import MAKERS, drawn_classifier

from sgbt.certify.edits import explain_against
from sgbt.threats import Threat
from sgbt.threats.maker import is_reachable


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.text("ab' -.", max_size=6), st.sampled_from(THREATS))
def test_what_is_found_lies_between_the_proof_and_the_text(seed: int, text: str, threat: Threat) -> None:
    classifier = drawn_classifier(sorted(MAKERS)[seed % len(MAKERS)], seed, max_length=64)
    told = explain_against(classifier, text, threat)
    proof, nearly = told.certificate, told.certificate.slack + 1e-9
    assert told.worst_margin <= told.clean + nearly
    assert told.worst_margin >= proof.margin - nearly
    assert told.worst_text == text or is_reachable(threat, text, told.worst_text, classifier.tokenizer)
    assert all(edit.drop <= 0 for edit in told.edits)
    assert [edit.drop for edit in told.edits] == sorted(edit.drop for edit in told.edits)
    assert all(text[edit.start : edit.end] == edit.old for edit in told.edits)


@pytest.mark.parametrize("threat", EDITS[1:], ids=str)
def test_one_edit_of_a_bag_of_words_is_exact(threat: Threat) -> None:
    for seed in range(6):
        classifier = drawn_classifier("bag of words", 12 * seed, max_length=64)
        told = explain_against(classifier, "ab b a", threat.within(total=1))
        lowest = min([edit.drop for edit in told.edits], default=0.0)
        assert told.worst_margin == pytest.approx(told.clean + lowest, rel=1e-6, abs=1e-9)
        if told.certificate.edits:
            assert np.isclose(told.worst_margin, told.certificate.margin, rtol=1e-6, atol=told.certificate.slack + 1e-9)
