"""What was prepared for a model is refused once the model is another, and its twin in float64 is made anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from tests import small

from sgbt.certify import Prepared, certify, explain
from sgbt.core.errors import CertificateError
from sgbt.models import AnyModel, TextClassifier

TEXTS = small.dataset(test=12).test


def classifier_of(kind: str, **options: object) -> TextClassifier:
    model = small.model_of(kind, seed=1, **options)
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


def head(model: AnyModel) -> torch.nn.Parameter:
    return list(model.parameters())[-1]


def scaled(model: AnyModel) -> None:
    with torch.no_grad():
        head(model).mul_(-3)


def through_data(model: AnyModel) -> None:
    head(model).data.mul_(-3)


def another_state(model: AnyModel) -> None:
    model.load_state_dict(
        {name: -weight if weight.is_floating_point() else weight for name, weight in model.state_dict().items()}
    )


def new_tensor(model: AnyModel) -> None:
    head(model).data = head(model).data * -3


def word_vectors(model: AnyModel) -> None:
    with torch.no_grad():
        model.embedding.weight[5].mul_(-2)


def options(model: AnyModel) -> None:
    model.config = replace(model.config, pooling="mean")


CHANGES: list[Callable[[AnyModel], None]] = [scaled, through_data, another_state, new_tensor, word_vectors, options]


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_model_that_changed_is_prepared_again(kind: str, change: Callable[[AnyModel], None]) -> None:
    classifier = classifier_of(kind, pooling="max")
    prepared = Prepared.of(classifier)
    before = certify(prepared, TEXTS)
    assert certify(prepared, TEXTS) == before
    change(classifier.model)
    with pytest.raises(CertificateError, match="prepare again"):
        certify(prepared, TEXTS)
    with pytest.raises(CertificateError, match="prepare again"):
        explain(prepared, TEXTS.texts[0])
    fresh = certify(Prepared.of(classifier), TEXTS)
    assert {row.model_hash for row in fresh} == {classifier.identity} != {row.model_hash for row in before}


@pytest.mark.parametrize("change", CHANGES)
def test_answers_are_those_of_the_model_as_it_is(change: Callable[[AnyModel], None]) -> None:
    """A BiLSTM answers by a copy in float64, which must follow whatever is done to the model."""
    classifier = classifier_of("bilstm", pooling="max")
    before = classifier.predict(TEXTS.texts).probabilities
    change(classifier.model)
    now = classifier.predict(TEXTS.texts).probabilities
    fresh = replace(classifier).predict(TEXTS.texts).probabilities
    assert (now == fresh).all()
    assert (now != before).any()
