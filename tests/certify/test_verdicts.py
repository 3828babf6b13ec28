"""A text with nothing to replace has a verdict of its own, and is counted apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.soundness.trained import HIDDEN, WORDS, dataset, table, trained

from sgbt.attacks import AttackResult, Swap
from sgbt.certify import Certificate, Verdict, certify, check_consistent, read_rows
from sgbt.certify.oracle import robust_by_oracle
from sgbt.certify.rows.summary import Summary
from sgbt.core.errors import CertificateError
from sgbt.threats import SubstitutionTable

FIXED = f"{WORDS['filler'][2]} {WORDS['filler'][3]}"
"""Known words that the table does not replace."""
FREE = " ".join(WORDS["good"][:3])
KINDS = ("cnn", "bilstm", "linear", "grams")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "   ", "zzz qqq", "ein schöner Film", FIXED])
def test_a_text_with_nothing_to_replace_is_not_certified(kind: str, text: str) -> None:
    classifier = trained(kind)
    (proof,) = certify(classifier, [text])
    assert proof.verdict is Verdict.VACUOUS
    assert not proof.certified
    assert proof.stays
    assert (proof.replaceable, proof.radius) == (0, 0)
    logits = classifier.logits_of(classifier.encode([text]))[0].tolist()
    assert proof.margin == pytest.approx(max(logits) - min(logits), abs=1e-5)


@pytest.mark.parametrize("options", [{"max_substitutions": 0}, {"scale": 0.0}])
def test_no_replacement_allowed_is_nothing_to_replace(options: dict[str, float]) -> None:
    (proof,) = certify(trained("cnn"), [FREE], **options)  # type: ignore[arg-type]
    assert proof.replaceable == 3
    assert proof.verdict is Verdict.VACUOUS


def test_a_misclassified_text_with_nothing_to_replace_stays_misclassified() -> None:
    classifier = trained("cnn")
    (right,) = certify(classifier, [FIXED])
    (wrong,) = certify(classifier, [FIXED], labels=[1 - right.predicted])
    assert wrong.verdict is Verdict.MISCLASSIFIED
    assert not wrong.stays


@pytest.mark.parametrize(
    ("text", "unknown"), [("", 0), ("zzz qqq", 2), (f"zzz {FIXED}", 1), (f"{HIDDEN} {FREE} zzz", 2), (FREE, 0)]
)
def test_unknown_words_are_counted_among_those_read(text: str, unknown: int) -> None:
    for kind in KINDS:
        listed = HIDDEN in text and HIDDEN in trained(kind).vocabulary  # linear models list all that the table lists
        (proof,) = certify(trained(kind), [text])
        assert proof.unknown == unknown - listed
    (cut,) = certify(trained("cnn"), [f"{FREE} " + "zzz " * 20])
    assert (cut.read, cut.unknown) == (8, 5)


def row(**changes: object) -> dict[str, object]:
    made = {
        "index": 0, "verdict": "certified", "label": 0, "predicted": 0, "margin": 1.0, "tier": "ibp", "slack": 0.1,
        "words": 2, "read": 2, "replaceable": 2, "table_hash": "t", "model_hash": "m", "text_hash": "x",
        "tiers": ["ibp"], "max_substitutions": None, "radius": 0, "scale": 1.0, "milliseconds": {"ibp": 1.0},
    }  # fmt: skip
    return made | changes


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.CERTIFIED),
        ({"replaceable": 0}, Verdict.VACUOUS),
        ({"max_substitutions": 0}, Verdict.VACUOUS),
        ({"scale": 0.0}, Verdict.VACUOUS),
        ({"replaceable": 0, "verdict": "abstained", "margin": 0.05}, Verdict.VACUOUS),
        ({"replaceable": 0, "verdict": "misclassified", "predicted": 1, "margin": -1.0}, Verdict.MISCLASSIFIED),
    ],
)
def test_rows_from_before_get_the_verdict_that_they_have_now(
    tmp_path: Path, changes: dict[str, object], verdict: Verdict
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row(**changes)) + "\n")
    (read,) = read_rows(file)
    assert read.verdict is verdict
    assert read.unknown is None
    assert Certificate.from_row(read.to_row()) == read


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "nothing-to-replace"},
        {"verdict": "nothing-to-replace", "replaceable": 0, "predicted": 1},
        {"verdict": "certified", "replaceable": 0, "margin": 0.05},
        {"unknown": 3},
        {"unknown": -1},
    ],
)
def test_a_row_that_says_what_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_row(row(**changes))


def test_only_texts_with_something_to_replace_count_as_certified() -> None:
    classifier = trained("cnn", "ibp", "mean")
    proofs = certify(classifier, dataset().test)
    texts = (*dataset().test.texts, "", "zzz qqq", FIXED)
    labels = [*dataset().test.labels.tolist(), *(proof.label for proof in certify(classifier, texts[-3:]))]
    summary, with_more = Summary.of(proofs), Summary.of(certify(classifier, texts, labels=labels))
    assert summary.certified.count > 0
    assert with_more.certified.count == summary.certified.count
    assert with_more.vacuous.count == summary.vacuous.count + 3
    assert with_more.clean.count == summary.clean.count + 3
    parts = (with_more.certified, with_more.vacuous, with_more.abstained)
    assert sum(part.count for part in parts) == with_more.clean.count
    assert {part.total for part in parts} == {len(texts)}
    assert [tier.tried for tier in with_more.tiers] == [tier.tried for tier in summary.tiers]


def test_the_oracle_counts_them_apart_too() -> None:
    classifier = trained("cnn", "ibp", "mean")
    texts = ["", FIXED, FREE]
    found = robust_by_oracle(classifier, texts, certify(classifier, texts), table(), most=1000)
    assert (found.vacuous.count, found.share.total) == (2, 3)
    assert found.certified.count + found.vacuous.count <= found.share.count


def test_an_attack_that_replaced_where_there_is_nothing_to_replace_is_a_contradiction() -> None:
    (proof,) = certify(trained("cnn"), [FREE], SubstitutionTable({}, "nothing"))
    broken = AttackResult(0, "pwws", "success", 0, 1, FREE, "x", (Swap(0, "a", "b"),), 3, 1, 0.1, 0)
    held = AttackResult(0, "pwws", "failed", 0, 0, FREE, FREE, (), 3, 1, 0.1, 0)
    assert check_consistent([proof], [held]) == 0
    with pytest.raises(CertificateError, match="text 0"):
        check_consistent([proof], [broken])
    allowed = replace(proof, max_substitutions=0, replaceable=3)
    assert check_consistent([allowed], [broken]) == 0
    study = replace(proof, scale=0.0, replaceable=3)
    assert check_consistent([study], [broken]) == 0
