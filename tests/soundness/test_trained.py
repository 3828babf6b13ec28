"""Certificates of trained classifiers, as they are deployed, against every variant."""

from __future__ import annotations

import pytest
import torch
from tests.soundness.trained import dataset, sentences, table, trained

from sgbt.certify import Specification, certify, exhaustive, in_float64, margin_bounds, rounding_slack
from sgbt.certify.cnn.rounding import proven_gap
from sgbt.certify.oracle import combinations_of
from sgbt.threats import SubstitutionIndex

CASES = [
    ("cnn", "standard", "max", 2),
    ("cnn", "ibp", "mean", 2),
    ("cnn", "standard", "mean", 3),
    ("bilstm", "standard", "last", 2),
    ("bilstm", "ibp", "mean", 3),
    ("bilstm", "standard", "max", 2),
    ("bilstm", "ibp", "max", 3),
    ("cnn", "two-channel", "mean", 2),
    ("cnn", "beside-words", "mean", 2),
    ("bilstm", "beside-words", "mean", 3),
    ("linear", "ibp", "", 2),
    ("linear", "ibp", "", 3),
    ("grams", "ibp", "", 2),
    ("grams", "ibp", "", 3),
    ("cnn", "sem", "max", 2),
    ("bilstm", "sem", "last", 2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_variant_of_a_certified_text_changes_its_label(case: tuple[str, str, str, int]) -> None:
    kind, objective, pooling, classes = case
    classifier = trained(kind, objective, pooling, classes)
    texts = sentences(60, 11, classes=classes, most=6)
    index = SubstitutionIndex.build(table(), classifier.vocabulary)
    proofs = certify(classifier, texts)
    assert any(proof.certified for proof in proofs)
    slack, widest, exact_share = rounding_slack(classifier), 0.0, list[bool]()
    precise = in_float64(classifier.model)
    for proof in proofs:
        if proof.predicted != proof.label:
            continue
        found = index.for_words([classifier.tokenizer.words(texts.texts[proof.index])])
        spec = Specification.of(found, found.mask, torch.tensor([proof.label]), classes=classes)
        if combinations_of(spec, 0) > 4000:
            continue
        deployed = exhaustive(classifier.deciding, spec, 0)
        exact = exhaustive(precise, spec, 0)
        assert proof.margin <= exact.worst + 1e-9
        widest = max(widest, abs(deployed.worst - exact.worst))
        if proof.certified:
            assert deployed.worst > 0
        if kind == "linear" and proof.replaceable > 0:  # words add up, so the bound is the worst case itself
            exact_share.append(abs(proof.margin - exact.worst) < 1e-9)
    assert kind != "linear" or sum(exact_share) > 0.9 * len(exact_share)
    assert widest < slack, "rounding exceeds the stated slack"


@pytest.mark.parametrize(
    ("kind", "objective"),
    [("cnn", "standard"), ("bilstm", "standard"), ("cnn", "two-channel"), ("cnn", "beside-words")],
)
def test_the_slack_covers_rounding_many_times_over(kind: str, objective: str) -> None:
    classifier = trained(kind, objective)
    ids = classifier.encode(dataset().train.texts + dataset().test.texts)
    deployed = classifier.logits_of(ids)
    precise = in_float64(classifier.model)
    exact = torch.stack([precise(torch.from_numpy(ids[row]).long().unsqueeze(0))[0] for row in range(len(ids))])
    difference = deployed - exact
    worst = float((difference.amax(dim=1) - difference.amin(dim=1)).amax())
    assert 0 < worst < rounding_slack(classifier) / 2
    assert rounding_slack(classifier) < (1e-3 if kind == "cnn" else 1e-6), "a slack that large would cost certificates"
    if objective == "standard" and kind == "cnn":
        assert worst < proven_gap(precise, longest=classifier.max_length) < rounding_slack(classifier)


def test_the_slack_counts_only_the_coordinates_that_a_filter_reads() -> None:
    """A filter that reads one small coordinate of long vectors: rounding cannot be off by more than that coordinate."""
    model = in_float64(trained("cnn", "ibp", "mean").model)
    before = proven_gap(model, longest=9)
    with torch.no_grad():
        for layer in model.convolutions:
            layer.weight[:, 1:] = 0
        model.embedding.weight[:, 0] *= 1e-3
        small = proven_gap(model, longest=9)
        model.embedding.weight[:, 1:] *= 100  # what no filter reads
        assert proven_gap(model, longest=9) == pytest.approx(small)
    assert 0 < small < before / 2


@pytest.mark.parametrize("budget", [0, 1, 2, 9])
def test_a_linear_model_is_certified_exactly_within_a_budget(budget: int) -> None:
    """Where no word is ambiguous, words add up, and the n worst of them are the worst case of n replacements."""
    classifier = trained("linear", "ibp", "", 3)
    model, index = in_float64(classifier.model), SubstitutionIndex.build(table(), classifier.vocabulary)
    exact = 0
    for text in sentences(40, 12, classes=3, most=6).texts:
        found = index.for_words([classifier.tokenizer.words(text)])
        spec = Specification.of(found, found.mask, torch.tensor([0]), classes=3, budget=budget)
        if combinations_of(spec, 0) > 2000:
            continue
        bound, truth = margin_bounds("ibp", model, spec)[0], exhaustive(model, spec, 0).margins
        assert (bound <= truth + 1e-9).all()
        exact += int(torch.allclose(bound, truth, rtol=0, atol=1e-9))
    assert exact >= 15
