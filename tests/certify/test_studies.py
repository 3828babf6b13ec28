"""A scale below one is a study, not a proof about texts: such rows are counted apart and reach no figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests import small

from sgbt.bridges import export, model_card
from sgbt.certify import Certificate, certify, verify
from sgbt.certify.oracle import robust_by_oracle
from sgbt.certify.rows.summary import Summary, by_class
from sgbt.core.errors import CertificateError
from sgbt.evaluate.metrics import certified_figures, certified_within
from sgbt.models import TextClassifier, save_classifier

TEXTS = small.dataset(test=30).test


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture(scope="module")
def studies(classifier: TextClassifier) -> list[Certificate]:
    return certify(classifier, TEXTS, scale=1e-6)


def test_verify_counts_studies_apart(classifier: TextClassifier, studies: list[Certificate]) -> None:
    proofs = certify(classifier, TEXTS)
    assert sum(row.certified for row in studies) > sum(row.certified for row in proofs)
    assert all(row.study for row in studies)
    assert verify(classifier, studies, TEXTS).studies == len(studies)
    assert verify(classifier, proofs, TEXTS).studies == 0


def test_no_figure_is_made_of_studies(classifier: TextClassifier, studies: list[Certificate]) -> None:
    names, proofs = classifier.label_names, certify(classifier, TEXTS)
    mixed = [*proofs[:5], *studies[5:]]
    for rows in (studies, mixed):
        for figures in (Summary.of, certified_figures, lambda rows: by_class(rows, names)):
            with pytest.raises(CertificateError, match="scale 1e-06"):
                figures(rows)
        with pytest.raises(CertificateError, match="scale 1e-06"):
            certified_within(rows, 1)
        with pytest.raises(CertificateError, match="scale 1e-06"):
            robust_by_oracle(classifier, TEXTS.texts, rows, small.TABLE, most=100)


def test_no_figure_is_made_of_two_budgets(classifier: TextClassifier) -> None:
    rows = [*certify(classifier, TEXTS[:5]), *certify(classifier, TEXTS, max_substitutions=1)[5:]]
    with pytest.raises(CertificateError, match="one max substitutions for all rows"):
        Summary.of(rows)


def test_studies_are_not_published(classifier: TextClassifier, tmp_path: Path) -> None:
    run, rows = save_classifier(classifier, tmp_path / "run"), tmp_path / "rows.jsonl"
    certify(classifier, TEXTS, scale=1e-6, out=rows)
    with pytest.raises(CertificateError, match="scale 1e-06"):
        model_card(run, certificates=rows, texts=TEXTS)
    with pytest.raises(CertificateError, match="scale 1e-06"):
        export(run, tmp_path / "cards", certificates=rows, texts=TEXTS)
    assert not (tmp_path / "cards").exists()


def test_a_study_that_says_it_is_none_is_found(classifier: TextClassifier, studies: list[Certificate]) -> None:
    with pytest.raises(CertificateError, match="a true row"):
        verify(classifier, [replace(row, scale=1.0) for row in studies], TEXTS)
