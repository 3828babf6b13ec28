"""certify from texts to certificates, for texts of every sort."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.soundness.trained import HIDDEN, WORDS, dataset, table, trained

import sgbt
import sgbt.certify.certifying as certifying
from sgbt.certify import Certificate, Verdict, certify, read_rows
from sgbt.core.errors import CertificateError
from sgbt.data import Split
from sgbt.threats import SubstitutionTable

GOOD, FILLER = WORDS["good"], WORDS["filler"]


def test_verdicts_follow_from_prediction_and_margin() -> None:
    classifier, texts = trained("cnn", "ibp", "mean"), dataset().test
    proofs = certify(classifier, texts)
    assert [proof.index for proof in proofs] == list(range(len(texts)))
    predicted = classifier.predict(texts.texts).labels
    for proof, name in zip(proofs, predicted, strict=True):
        assert classifier.label_names[proof.predicted] == name
        assert (proof.verdict is Verdict.MISCLASSIFIED) == (proof.predicted != proof.label)
        right = proof.predicted == proof.label
        assert proof.certified == (right and proof.replaceable > 0 and proof.margin > proof.slack)
        assert (proof.verdict is Verdict.VACUOUS) == (right and proof.replaceable == 0)
        assert proof.table_hash == table().hash
    assert {proof.verdict for proof in proofs} == set(Verdict) - {Verdict.VACUOUS}


def test_alone_or_in_a_batch_the_answer_is_the_same() -> None:
    for kind in ("cnn", "bilstm"):
        classifier, texts = trained(kind), dataset().test[:25]
        together = certify(classifier, texts)
        for place, proof in enumerate(together):
            alone = certify(classifier, texts[place : place + 1])[0]
            assert (alone.verdict, alone.tier, alone.radius) == (proof.verdict, proof.tier, proof.radius)
            rounding = 1e-5 if proof.verdict is Verdict.MISCLASSIFIED else 1e-9  # the deployed logits, in float32
            assert alone.margin == pytest.approx(proof.margin, abs=rounding)


def test_the_number_of_threads_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    for kind in ("cnn", "bilstm"):
        monkeypatch.setattr(certifying, "words_at_once", lambda model: 64)  # many batches
        one, three = (certify(trained(kind), dataset().test, threads=count) for count in (1, 3))
        for alone, proof in zip(one, three, strict=True):
            assert replace(alone, margin=proof.margin) == proof
            assert alone.margin == pytest.approx(proof.margin, abs=1e-12)  # words are projected in another company
    assert torch.get_num_threads() == threads


def test_without_labels_the_prediction_is_what_is_defended() -> None:
    proofs = certify(trained("cnn"), list(dataset().test.texts[:10]))
    assert all(proof.label == proof.predicted for proof in proofs)


def test_an_empty_text_is_its_own_worst_case() -> None:
    for kind in ("cnn", "bilstm"):
        for text in ("", "   "):
            (proof,) = certify(trained(kind), [text])
            assert (proof.words, proof.read, proof.replaceable) == (0, 0, 0)
            assert proof.verdict is Verdict.VACUOUS
            assert proof.tier == "clean"
            assert proof.radius == 0


def test_a_text_of_unknown_words_without_substitutes_has_nothing_to_replace() -> None:
    (proof,) = certify(trained("cnn"), ["zyx wvu tsr"])
    assert (proof.words, proof.unknown, proof.replaceable) == (3, 3, 0)
    assert proof.verdict is Verdict.VACUOUS


def test_substitutes_of_a_word_outside_the_vocabulary_count() -> None:
    classifier = trained("cnn")
    assert HIDDEN not in classifier.vocabulary
    (proof,) = certify(classifier, [f"{HIDDEN} {FILLER[2]} {FILLER[3]}"])
    assert proof.replaceable == 1
    (fixed,) = certify(classifier, [f"zyx {FILLER[2]} {FILLER[3]}"])
    assert proof.margin < fixed.margin


def test_what_stands_behind_the_maximal_length_is_not_read() -> None:
    classifier = trained("bilstm")
    short = " ".join(GOOD[:8])
    (whole,) = certify(classifier, [short])
    (longer,) = certify(classifier, [short + " " + " ".join(WORDS["bad"])])
    assert (longer.words, longer.read) == (20, 8)
    assert longer.truncated
    assert not whole.truncated
    assert (longer.verdict, longer.margin) == (whole.verdict, pytest.approx(whole.margin, abs=1e-9))


def test_cheap_tiers_come_first_and_a_text_stops_at_the_first_that_certifies_it() -> None:
    proofs = certify(trained("cnn", "ibp", "mean"), dataset().test, tiers=("crown", "ibp", "sgbt-taylor"))
    order = ("ibp", "sgbt-taylor", "crown")
    for proof in proofs:
        assert proof.tiers == order
        if proof.certified:
            assert list(proof.milliseconds) == list(order[: order.index(proof.tier) + 1])
        elif proof.verdict is Verdict.ABSTAINED:
            assert list(proof.milliseconds) == list(order)


def test_a_budget_certifies_more_and_the_radius_agrees_with_it() -> None:
    classifier, texts = trained("cnn", "standard", "mean"), dataset().test
    free = certify(classifier, texts)
    by_budget = {n: certify(classifier, texts, max_substitutions=n) for n in (0, 1, 2, 3)}
    for place, proof in enumerate(free):
        for budget, proofs in by_budget.items():
            if proof.radius is not None and proof.verdict is not Verdict.MISCLASSIFIED and proof.radius >= budget:
                assert proofs[place].stays, (place, budget)
            if proof.certified:
                assert proof.radius == proof.replaceable
    counts = [sum(proof.stays for proof in by_budget[n]) for n in (0, 1, 2, 3)]
    assert counts == sorted(counts, reverse=True)
    assert counts[1] > sum(proof.stays for proof in free)
    assert not any(proof.certified for proof in by_budget[0])


def test_a_table_given_takes_the_place_of_the_models_own() -> None:
    classifier, texts = trained("bilstm"), dataset().test[:20]
    nothing = SubstitutionTable({}, "nothing")
    proofs = certify(classifier, texts, nothing)
    assert {proof.verdict for proof in proofs} <= {Verdict.VACUOUS, Verdict.MISCLASSIFIED}
    assert {proof.table_hash for proof in proofs} == {nothing.hash}


def test_two_channels_are_certified_with_what_remains_after_encoding() -> None:
    classifier = trained("cnn", "two-channel", "mean")
    proofs = certify(classifier, dataset().test)
    assert any(proof.certified for proof in proofs)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tiers": ("ibp", "magic")}, "tiers among ibp"),
        ({"labels": [0]}, "one label for each text"),
        ({"labels": [5, 0]}, "labels from 0 to 1"),
        ({"max_substitutions": -1}, "at least 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(CertificateError, match=told):
        certify(trained("cnn"), ["one text", "another"], **options)  # type: ignore[arg-type]


def test_one_text_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(CertificateError, match="a list of texts"):
        certify(trained("cnn"), "a text")


def test_no_texts_give_no_certificates() -> None:
    assert certify(trained("cnn"), []) == []


def test_the_package_is_called_like_the_function() -> None:
    assert sgbt.certify(trained("cnn"), ["a text"])[0].words == 2


def test_a_certificate_that_contradicts_itself_cannot_be_made() -> None:
    good = next(proof for proof in certify(trained("cnn"), dataset().test) if proof.certified)
    row = good.to_row()
    assert Certificate.from_row(row) == good
    for change in ({"margin": float("nan")}, {"verdict": "certified", "margin": -1.0}, {"label": 1 - good.label}):
        with pytest.raises(CertificateError):
            Certificate.from_row(row | change)


def test_the_model_is_left_as_it_was(tmp_path: object) -> None:
    classifier = trained("bilstm")
    before = {name: weight.clone() for name, weight in classifier.model.state_dict().items()}
    certify(classifier, dataset().test[:5])
    for name, weight in classifier.model.state_dict().items():
        assert weight.dtype == before[name].dtype
        assert torch.equal(weight, before[name])


def test_rows_hold_what_was_returned(tmp_path) -> None:  # type: ignore[no-untyped-def]
    texts: Split = dataset().test[:30]
    proofs = certify(trained("cnn"), texts, out=tmp_path / "rows.jsonl")
    assert read_rows(tmp_path / "rows.jsonl") == proofs
