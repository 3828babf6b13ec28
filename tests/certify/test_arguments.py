"""What certify is given and cannot use is refused in a sentence, and nothing is quietly taken for something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests import small

from sgbt.certify import certify
from sgbt.core.errors import CertificateError, ModelError, SgbtError
from sgbt.models import TextClassifier

TEXTS = ["the film was good", "an awful film"]


def own() -> TextClassifier:
    return TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("no", "yes"), small.TABLE, max_length=9)


@pytest.mark.parametrize("budget", [True, 1.5, float("nan"), "1", 10**30, -1])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(CertificateError, match="whole number of substitutions"):
        certify(own(), TEXTS, max_substitutions=budget)


@pytest.mark.parametrize("budget", [np.int64(1), 2**40])
def test_a_budget_of_numpy_and_a_large_one_are_budgets(budget: Any) -> None:
    rows = certify(own(), TEXTS, max_substitutions=budget)
    assert [row.max_substitutions for row in rows] == [int(budget)] * 2
    assert all(type(row.max_substitutions) is int for row in rows)


@pytest.mark.parametrize("scale", ["1", True, None, float("nan"), -0.1])
def test_a_scale_is_a_number(scale: Any) -> None:
    with pytest.raises(CertificateError, match="a scale from 0 to 1"):
        certify(own(), TEXTS, scale=scale)


@pytest.mark.parametrize("labels", [[0.7, 1.7], [None, 1], ["yes", "no"], [float("nan"), 0.0], [[0], [1]], [[0, 1]]])
def test_labels_are_whole_numbers(labels: Any) -> None:
    """0.7 was taken for 0."""
    with pytest.raises(CertificateError, match="label"):
        certify(own(), TEXTS, labels=labels)


@pytest.mark.parametrize("texts", [["a good film", None], [5, "x"], [b"good"], [["a", "film"]], [float("nan")]])
def test_texts_are_texts(texts: Any) -> None:
    for ask in (certify, lambda classifier, given: classifier.predict(given)):
        with pytest.raises(SgbtError, match="a list of texts"):
            ask(own(), texts)  # type: ignore[operator]


@pytest.mark.parametrize("length", [2**63, 10**30])
def test_a_length_that_nothing_has_is_refused(length: int) -> None:
    with pytest.raises(ModelError, match="max_length as a whole number"):
        replace(own(), max_length=length)
