"""Certificates of black boxes against brute force over strings."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.black_box.strings import encoders, every_text, random_callable, texts
from tests.small import TABLE

from sgbt.certify import read_rows
from sgbt.certify.black_box import (
    Answer,
    Deletion,
    EncodedCertificate,
    EncodedSummary,
    Encoder,
    certify_encoded,
    certify_smoothed,
)
from sgbt.certify.rows.summary import Summary
from sgbt.core.errors import AttackError, CertificateError, ForgedRowError

PLAIN_CODES = {word: word for word in {*TABLE.entries, *sum(TABLE.entries.values(), ())}}
ENCODER = Encoder(TABLE, PLAIN_CODES)


@given(
    encoders(),
    st.lists(texts(), min_size=1, max_size=3),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.6]),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([2, 3]),
    st.sampled_from([1, 8, 4096]),
)
def test_certificates_agree_with_brute_force(encoder, given_texts, seed, bias, budget, classes, most):
    classify = random_callable(seed, classes, bias)
    found = certify_encoded(
        classify, given_texts, encoder, max_substitutions=budget, max_queries=most, slack=0.0, batch=5
    )
    for text, row in zip(given_texts, found, strict=True):
        versions = every_text(text, encoder.table, random.Random(seed), budget)
        answers = classify([encoder.encode(version) for version in versions])
        stays = bool((answers.argmax(axis=1) == row.predicted).all())
        assert row.queries <= most + 1
        if row.stays:
            assert stays
        if row.verdict is Answer.BROKEN:
            assert not stays
            assert classify([encoder.encode(row.witness)])[0].argmax() != row.label
        if row.verdict is Answer.ABSTAINED:
            assert row.combinations > most or row.margin <= row.slack  # all were asked: the least of them is a tie
        if row.radius is not None:
            within = every_text(text, encoder.table, random.Random(seed), row.radius)
            assert (classify([encoder.encode(version) for version in within]).argmax(axis=1) == row.label).all()


def test_each_text_is_asked_about_once_and_fewest_changes_first():
    asked = []

    def classify(batch):
        asked.extend(batch)
        return np.array([[0.0, 1.0]] * len(batch))

    (row,) = certify_encoded(classify, ["good film good film"], ENCODER, labels=[1])
    assert row.certified
    assert row.queries == row.combinations == 3 * 2 * 3 * 2 == len(asked) == len(set(asked))
    changes = [sum(a != b for a, b in zip(text.split(), asked[0].split(), strict=True)) for text in asked]
    assert changes == sorted(changes)


def test_one_change_that_breaks_a_text_ends_its_search():
    (row,) = certify_encoded(
        lambda batch: np.array([[1.0, 0.0] if "great" in text else [0.0, 1.0] for text in batch]),
        ["Good film, good film"],
        ENCODER,
        labels=[1],
    )
    assert row.verdict is Answer.BROKEN
    assert row.radius == 0
    assert row.witness in ("Great film, good film", "Good film, great film")
    assert row.queries < row.combinations


def test_the_answers_that_are_no_proof():
    def classify(batch):
        return np.array([[0.0, 1.0]] * len(batch))

    texts = ["nothing listed", "good film", "good film " * 9, "good film"]
    found = certify_encoded(classify, texts, ENCODER, labels=[1, 0, 1, 1], max_queries=100)
    wanted = [Answer.VACUOUS, Answer.MISCLASSIFIED, Answer.ABSTAINED, Answer.CERTIFIED]
    assert [row.verdict for row in found] == wanted
    assert found[2].queries == 1
    summary = EncodedSummary.of(found)
    assert (summary.clean.count, summary.certified.count, summary.abstained.count) == (3, 1, 1)


def test_a_margin_within_the_slack_is_not_certified():
    found = certify_encoded(lambda batch: np.array([[0.5, 0.5 + 1e-9]] * len(batch)), ["good"], ENCODER, labels=[1])
    assert found[0].verdict is Answer.ABSTAINED


def test_rows_that_claim_too_much_are_not_taken_over(tmp_path):
    out, classify = tmp_path / "rows.jsonl", random_callable(3, bias=0.6)
    texts = ["good film", "bad movie", "very good", "great"]
    rows = certify_encoded(classify, texts, ENCODER)
    labels = [row.label for row in rows]
    row = next(row for row in rows if row.verdict is Answer.BROKEN).to_row() | {"model_hash": "a 1"}
    for claim in (
        {"verdict": "certified", "margin": 0.5, "witness": None},
        {"verdict": "certified", "margin": 0.5, "witness": None, "method": "additive"},
        {"verdict": "misclassified", "predicted": 1 - row["label"], "witness": None},
    ):
        out.write_text(json.dumps(row | claim) + "\n")
        with pytest.raises(CertificateError, match="a true row"):
            certify_encoded(classify, texts, ENCODER, labels=labels, fingerprint="a 1", out=out)


def test_radius_margin_and_labels_of_rows_are_not_believed(tmp_path):
    out, classify = tmp_path / "rows.jsonl", random_callable(3, bias=0.6)
    texts = ["good film", "bad movie", "very good", "great"]
    rows = certify_encoded(classify, texts, ENCODER, fingerprint="a 1", out=out)
    broken = next(row for row in rows if row.verdict is Answer.BROKEN).to_row()
    more = {"radius": broken["radius"] + 1}, {"verdict": "abstained", "witness": None, "margin": broken["margin"] + 1}
    for claim in more:
        out.write_text(json.dumps(broken | claim) + "\n")
        with pytest.raises(ForgedRowError, match=r"radius|margin"):
            certify_encoded(classify, texts, ENCODER, fingerprint="a 1", out=out)
    others = [1 - row.label for row in rows]
    out.unlink()
    certify_encoded(classify, texts, ENCODER, labels=others, fingerprint="a 1", out=out)
    with pytest.raises(CertificateError, match="another text or label"):
        certify_encoded(classify, texts, ENCODER, fingerprint="a 1", out=out)


def test_certificates_of_callables_are_not_summed_up_as_those_of_models(tmp_path):
    rows = certify_encoded(random_callable(3, bias=0.6), ["good"], ENCODER, fingerprint="a", out=tmp_path / "rows")
    with pytest.raises(CertificateError, match="one of kind 'proven'"):
        Summary.of(rows)
    with pytest.raises(CertificateError, match="one of kind 'proven'"):
        read_rows(tmp_path / "rows")


def test_rows_are_resumed_and_belong_to_one_callable(tmp_path, monkeypatch):
    monkeypatch.setattr("sgbt.certify.black_box.certifying._EncodedProver.rechecked", 0)
    out, classify = tmp_path / "rows.jsonl", random_callable(3, bias=0.6)
    texts = ["good film", "bad movie", "very good"]
    with pytest.raises(AttackError, match="fingerprint"):
        certify_encoded(classify, texts, ENCODER, out=out)
    first = certify_encoded(classify, texts, ENCODER, out=out, fingerprint="a 1")
    asked = []

    def counting(batch):
        asked.extend(batch)
        return classify(batch)

    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(lines[0] + lines[1] + lines[2][:30])
    again = certify_encoded(counting, texts, ENCODER, out=out, fingerprint="a 1")
    assert again == first == read_rows(out, EncodedCertificate)
    assert len(asked) < sum(row.queries for row in first)
    with pytest.raises(CertificateError, match="model hash a 2"):
        certify_encoded(classify, texts, ENCODER, out=out, fingerprint="a 2")
    with pytest.raises(CertificateError, match="text 1"):
        certify_encoded(classify, ["good film", "another"], ENCODER, out=out, fingerprint="a 1")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"labels": [0, 1]}, "expected 1 labels, got 2"),
        ({"labels": [2]}, "labels from 0 to 1"),
        ({"max_queries": 0}, "max_queries of at least 1"),
        ({"slack": float("nan")}, "slack of at least 0"),
        ({"max_substitutions": -1}, "whole number of substitutions"),
        ({"max_substitutions": True}, "whole number of substitutions"),
        ({"max_substitutions": 1.5}, "whole number of substitutions"),
        ({"labels": [0.7]}, "whole number for each text"),
        ({"labels": ["pos"]}, "whole number for each text"),
        ({"labels": [None]}, "whole number for each text"),
    ],
)
def test_bad_options_are_one_sentence(options, sentence):
    with pytest.raises(CertificateError, match=sentence):
        certify_encoded(random_callable(0), ["good"], ENCODER, **options)


@pytest.mark.parametrize("given_texts", ["good film", ["good", None], [3]])
def test_texts_are_a_list_of_texts(given_texts):
    with pytest.raises(CertificateError, match="expected a list of texts"):
        certify_encoded(random_callable(0), given_texts, ENCODER)
    with pytest.raises(CertificateError, match="expected a list of texts"):
        certify_smoothed(random_callable(0), given_texts, Deletion(0.5))


@pytest.mark.parametrize("answer", [["pos"], [[0.1, 0.9], [0.4]], [[np.nan, 1.0]], [[np.inf, 0.0]], [[0.9]]])
def test_an_answer_that_is_no_scores_proves_nothing(answer):
    with pytest.raises(AttackError, match="one row of label probabilities"):
        certify_encoded(lambda batch: answer, ["good"], ENCODER)


def test_a_certificate_cannot_contradict_itself(tmp_path):
    (row,) = certify_encoded(
        random_callable(0, bias=1.0), ["good"], ENCODER, labels=[0], fingerprint="x", out=tmp_path / "a"
    )
    forged = (tmp_path / "a").read_text().replace('"predicted": 0', '"predicted": 1')
    (tmp_path / "a").write_text(forged)
    with pytest.raises(CertificateError, match="contradict"):
        read_rows(tmp_path / "a", EncodedCertificate)
    assert row.certified
