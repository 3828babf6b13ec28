"""TierContract: what every tier of certificates must do, whatever the model."""

from __future__ import annotations

import contextlib
import copy
import itertools

import pytest
import torch
from torch import Tensor

from sgbt.certify import Specification, Verdict, certify, in_float64, margin_bounds, verifiers
from sgbt.certify.tiers import offered
from sgbt.certify.word_tables import WordTables
from sgbt.core.errors import BoundError
from sgbt.core.registry import MODELS
from sgbt.models import TextClassifier
from sgbt.testing.world import TABLE, classifier_of, least_margins, substitutions_of, texts_to_enumerate, versions

BUDGETS = (0, 1, 2, None)


class TierContract:
    """Inherit, with a fixture `name`: the name of a tier in the registry. `model` runs over the models of sgbt."""

    @pytest.fixture(params=MODELS.own)
    def model(self, request: pytest.FixtureRequest) -> str:
        """The name of the model whose texts are bounded."""
        return str(request.param)

    @pytest.fixture
    def classifier(self, name: str, model: str) -> TextClassifier:
        """A model that the tier is offered for; others are passed over."""
        found = classifier_of(model, data="toy3")
        spec = question_of(found, texts_to_enumerate(found, 1)[0], 0, None)
        if not offered(name, verifiers(in_float64(found.model), spec, WordTables())):
            pytest.skip(f"the tier {name} does not exist for {model}")
        return found

    def test_no_version_of_a_text_goes_below_the_bound(self, name: str, classifier: TextClassifier) -> None:
        """Every version within every budget; and more words to replace never raise the bound."""
        model = in_float64(classifier.model)
        for label, text in enumerate(texts_to_enumerate(classifier, 3)):
            found = []
            for budget in BUDGETS:
                bound = margin_bounds(name, model, question_of(classifier, text, label, budget))[0]
                exact = least_margins(classifier, model, text, label, budget=budget)
                assert bool((bound <= exact + 1e-9).all()), f"within {budget} words"
                found.append(bound)
            for fewer, more in itertools.pairwise(found):
                assert bool((more <= fewer + 1e-9).all())

    def test_numbers_that_overflow_prove_nothing(self, name: str, classifier: TextClassifier) -> None:
        """A bound that is not finite is minus infinity, or is refused on the way."""
        for wrong in (torch.nan, torch.inf, -torch.inf):
            model = copy.deepcopy(in_float64(classifier.model))
            with torch.no_grad():
                for weight in model.parameters():
                    weight.fill_(wrong)
            spec = question_of(classifier, texts_to_enumerate(classifier, 1)[0], 1, None)
            with contextlib.suppress(BoundError):
                assert bool((margin_bounds(name, model, spec) == -torch.inf).all())

    def test_certificates_and_radii_hold_for_every_version(self, name: str, classifier: TextClassifier) -> None:
        """Rows as `certify` writes them: no version of a certified text, or within its radius, has another label."""
        texts = texts_to_enumerate(classifier, 8)
        for row in certify(classifier, texts, TABLE, tiers=(name,)):
            label = classifier.label_names[row.label]
            assert row.tiers == (name,)
            assert (row.verdict is Verdict.CERTIFIED) == (row.margin > row.slack)
            if row.certified:
                assert row.radius == row.replaceable
            if row.radius is not None:
                within = versions(classifier, texts[row.index], budget=row.radius)
                assert set(classifier.predict(within).labels) == {label}


def question_of(classifier: TextClassifier, text: str, label: int, budget: int | None) -> Specification:
    """Whether a text keeps a label."""
    choices = substitutions_of(classifier, text)
    labels: Tensor = torch.tensor([label])
    return Specification.of(
        choices, choices.mask, labels, classes=len(classifier.label_names), budget=budget, reference="itself"
    )
