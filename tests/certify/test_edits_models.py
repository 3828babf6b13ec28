"""Certificates of every kind of model against enumeration over strings: sound, and monotone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certify.test_edits import EDITS, THREATS, least_by_enumeration
from tests.certify.threat_models import MAKERS, drawn_classifier

import sgbt
from sgbt.certify import least_margins
from sgbt.certify.edits import certify_against, cnn, enumerated, histories
from sgbt.core.errors import CertificateError
from sgbt.data import Tokenizer
from sgbt.models import BagOfNgrams, TextClassifier
from sgbt.threats import LatticeMaker, Threat, Vocabulary

LENGTHS = st.sampled_from([1, 2, 3, 64])
EXACT = ("bag of words",)


def check(kind: str, seed: int, text: str, threat: Threat, max_length: int) -> None:
    classifier = drawn_classifier(kind, seed, max_length=max_length)
    (row,) = certify_against(classifier, [text], threat)
    least = least_by_enumeration(classifier, text, threat, row.label, "ab' -.")
    nearly = row.slack + 1e-9
    assert row.margin <= least + nearly, (kind, seed, text, threat.name)
    if kind in EXACT and row.edits:
        assert row.margin >= least - nearly


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.text("ab' -.", max_size=6), st.sampled_from(THREATS), LENGTHS)
def test_no_string_has_a_margin_below(kind: str, seed: int, text: str, threat: Threat, max_length: int) -> None:
    check(kind, seed, text, threat, max_length)


@pytest.mark.parametrize("kind", MAKERS)
def test_texts_without_words_and_of_one_word(kind: str) -> None:
    for number, text in enumerate(("", "a", "'")):
        for threat in (Threat.typos(1), Threat.deletions("any", at_most=2) | Threat.insertions(["ab"], at_most=2)):
            check(kind, number, text, threat, 64)


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.text("ab' -.", max_size=6), min_size=2, max_size=2), st.sampled_from(EDITS))
def test_a_larger_threat_never_certifies_more(kind: str, seed: int, texts: list[str], other: Threat) -> None:
    classifier = drawn_classifier(kind, seed)
    labels = [seed % 2] * len(texts)
    threats = (Threat.typos(1), Threat.typos(1) | other, Threat.typos(1) | other | Threat.deletions("any", at_most=2))
    rows = [certify_against(classifier, texts, threat, labels=labels) for threat in threats]
    for small, large in itertools.pairwise(rows):
        for one, two in zip(small, large, strict=True):
            assert one.stays or not two.stays
            if kind.startswith("bag"):  # of networks few versions are enumerated, where a bound proves nothing
                assert one.margin >= two.margin - one.slack - 1e-9


@pytest.mark.parametrize("kind", ["bag of words", "bag of n-grams", "cnn"])
def test_histories_that_are_dropped_lower_the_bound_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threat, cut = Threat.typos(1) | Threat.adjacent_swaps(at_most=1), 0
    monkeypatch.setattr(enumerated, "FEW", 0)
    for seed in range(3):
        classifier = drawn_classifier(kind, seed, scale=1.0)
        (whole,) = certify_against(classifier, ["ab a- b"], threat)
        with monkeypatch.context() as patch:
            patch.setattr(histories, "MOST", 8)
            patch.setattr(histories, "AT_ONCE", 16)
            (row,) = certify_against(classifier, ["ab a- b"], threat)
        assert row.margin <= whole.margin + 1e-9
        cut += row.margin < whole.margin - 1e-9
    assert cut


def test_another_model_registers_its_own() -> None:
    class Constant(torch.nn.Module):
        pass

    lattice = LatticeMaker(Threat.typos(1), drawn_classifier("sum", 0).vocabulary, Tokenizer()).of("ab a")
    with pytest.raises(CertificateError, match="least_margins"):
        least_margins(Constant(), [lattice], np.array([0]), 8)

    @least_margins.register(Constant)
    def _constant(model: Any, lattices: Any, labels: Any, max_length: int) -> Any:
        return np.ones((len(lattices), 1))

    assert least_margins(Constant(), [lattice], np.array([0]), 8).tolist() == [[1.0]]


def test_a_bound_that_is_not_finite_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cnn, "BITS", 0)
    monkeypatch.setattr(enumerated, "FEW", 0)
    (row,) = certify_against(drawn_classifier("cnn", 1, scale=1.0), ["ab a- b"], Threat.typos(1))
    assert not row.certified
    assert np.isfinite(row.margin)


def test_a_word_behind_the_maximal_length_is_not_one_of_the_text() -> None:
    """A deletion brings it into reach, where it is a second occurrence of a run that the text is read to have once."""
    bag = BagOfNgrams(classes=2, longest=1)
    bag.adopt(codes=torch.arange(4), keys=torch.tensor([2, 3]))
    with torch.no_grad():
        bag.weight.copy_(torch.tensor([[1.0, 0.0], [0.5, 0.0]]))
    classifier, threat = (
        TextClassifier(bag, Vocabulary(("a", "b")), ("x", "y"), None, 2),
        Threat.deletions("any", at_most=1),
    )
    (row,) = certify_against(classifier, ["b a a"], threat)
    assert row.margin <= least_by_enumeration(classifier, "b a a", threat, row.label, "ab ") == 1.0


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_few_versions_are_enumerated(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threat, better = Threat.deletions("any", at_most=2), 0
    for seed in range(8):
        classifier = drawn_classifier(kind, seed, scale=1.0)
        (row,) = certify_against(classifier, ["ab a- b"], threat)
        least = least_by_enumeration(classifier, "ab a- b", threat, row.label, "ab' -.")
        with monkeypatch.context() as patch:
            patch.setattr(enumerated, "FEW", 0)
            (bound,) = certify_against(classifier, ["ab a- b"], threat)
        assert bound.margin <= row.margin <= least + row.slack + 1e-9
        if bound.margin <= 0:
            assert row.margin >= least - row.slack - 1e-6
            better += row.margin > bound.margin
    assert better or kind == "cnn"


def test_sets_of_words_in_the_place_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where histories of words are too many, boxes of sets bound them."""
    threat, lower = Threat.typos(1), 0
    monkeypatch.setattr(enumerated, "FEW", 0)
    for seed in range(6):
        classifier = drawn_classifier("cnn", seed, scale=1.0)
        (whole,) = certify_against(classifier, ["ab a- b"], threat)
        with monkeypatch.context() as patch:
            patch.setattr(cnn, "MOST", 10)
            (row,) = certify_against(classifier, ["ab a- b"], threat)
        assert row.margin <= whole.margin + 1e-9
        lower += row.margin < whole.margin - 1e-9
    assert lower


def test_substitutions_alone_need_no_lattice() -> None:
    classifier = drawn_classifier("sum", 3)
    table = sgbt.SubstitutionTable({"ab": ("ba",)}, "one")
    rows = sgbt.certify(classifier, ["ab a"], table)
    assert [type(row) for row in sgbt.certify(classifier, ["ab a"], threat=Threat.substitutions(table))] == [
        type(rows[0])
    ]


@pytest.mark.parametrize("beside", [None, Threat.typos(1), Threat.typos(1) | Threat.insertions(["q"], at_most=1)])
def test_a_word_written_twice_has_its_runs_once(beside: Threat | None) -> None:
    """The first of the two stands for the word, alone: the run of one word counts 2, that of the word twice -3."""
    model = BagOfNgrams(classes=2, longest=2)
    model.adopt(codes=torch.arange(4), keys=torch.tensor([1, 2, 3, (2 << 15) + 2]))
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.0, 5.0], [0.0, 2.0], [0.0, 5.0], [0.0, -3.0]]))
    classifier = TextClassifier(model, Vocabulary(("ab", "q")), ("bad", "good"), None, 64)
    threat = Threat.duplications(at_most=1)
    threat = threat if beside is None else (threat | beside).within(total=1)
    (row,) = certify_against(classifier, ["ab"], threat, labels=[1])
    assert row.margin <= least_by_enumeration(classifier, "ab", threat, 1, "abq ") + 1e-9
    assert row.margin == pytest.approx(-1.0)
