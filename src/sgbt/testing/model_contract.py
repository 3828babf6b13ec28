"""ModelContract: what every kind of model must do to be trained, kept, certified and attacked."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sgbt.attacks.queries.engine import Query, WordSwaps
from sgbt.attacks.space import SearchSpace
from sgbt.attacks.victim import victim_of
from sgbt.certify import certify, in_float64, rounding_slack
from sgbt.core.errors import CertificateError, ModelError
from sgbt.core.registry import MODELS
from sgbt.data import batches
from sgbt.models import TextClassifier, load_classifier, save_classifier, worst_case_logits
from sgbt.testing.world import (
    TABLE,
    classifier_of,
    least_margins,
    substitutions_of,
    texts_to_enumerate,
    versions,
)


class ModelContract:
    """Inherit, with a fixture `name`: the name of a model in the registry. `options` are options of it."""

    @pytest.fixture
    def options(self) -> Mapping[str, Any] | None:
        """Options of the model; None takes small sizes for the models of sgbt, and defaults for others."""
        return None

    @pytest.fixture
    def classifier(self, name: str, options: Mapping[str, Any] | None) -> TextClassifier:
        """Such a model, trained for a moment on three classes."""
        return classifier_of(name, options, data="toy3")

    def test_it_has_the_kind_and_the_options_that_its_name_promises(self, name: str) -> None:
        """Folders name a model by its kind, and keep its options."""
        assert MODELS[name].kind == name
        assert is_dataclass(MODELS[name].Options)

    def test_logits_are_finite_for_texts_of_any_length(self, classifier: TextClassifier) -> None:
        """Also for no word, one word and unknown words alone."""
        model = classifier.model.eval()
        ids = torch.tensor([[0, 0, 0, 0], [2, 0, 0, 0], [1, 1, 1, 1], [2, 3, 4, 5]])
        logits = model(ids)
        assert logits.shape == (4, 3)
        assert torch.isfinite(logits).all()
        assert torch.allclose(model(torch.zeros(1, 0, dtype=torch.int64))[0], logits[0], atol=1e-6)
        assert torch.equal(model(ids.int()), logits)

    def test_neither_padding_nor_companions_nor_what_a_mask_hides_change_an_answer(
        self, classifier: TextClassifier
    ) -> None:
        """A text alone is what it is in a batch."""
        model = in_float64(classifier.model)
        ids = torch.tensor([[2, 3, 4, 5, 6], [7, 8, 9, 9, 9]])
        mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
        together = model(ids, mask)
        assert torch.allclose(together[0], model(ids[:1])[0], atol=1e-12)
        assert torch.allclose(together[1], model(torch.tensor([[7, 8]]))[0], atol=1e-12)

    def test_a_text_is_given_the_same_label_alone_and_among_others(self, classifier: TextClassifier) -> None:
        """By `predict`, as a person asks."""
        texts = texts_to_enumerate(classifier, 6)
        whole = classifier.predict(texts)
        for place, text in enumerate(texts):
            alone = classifier.predict([text])
            assert alone.labels[0] == whole.labels[place]
            assert np.allclose(alone.probabilities[0], whole.probabilities[place], atol=1e-6)

    def test_a_folder_holds_the_same_model(self, classifier: TextClassifier, tmp_path: Path) -> None:
        """Its identity and its answers come back."""
        texts = texts_to_enumerate(classifier, 4)
        again = load_classifier(save_classifier(classifier, tmp_path / "model"))
        assert again.identity == classifier.identity
        assert again.predict(texts).labels == classifier.predict(texts).labels
        assert np.allclose(again.predict(texts).probabilities, classifier.predict(texts).probabilities, atol=1e-6)

    def test_weights_that_are_not_finite_are_refused(self, classifier: TextClassifier, tmp_path: Path) -> None:
        """Neither kept nor certified."""
        for wrong in (float("nan"), float("inf")):
            odd = replace(classifier, model=copy.deepcopy(classifier.model))
            with torch.no_grad():
                next(odd.model.parameters()).view(-1)[-1] = wrong
            with pytest.raises(ModelError, match="finite"):
                save_classifier(odd, tmp_path / "odd")
            with pytest.raises(CertificateError, match="finite"):
                certify(odd, ["the film was good"])

    def test_the_loss_moves_every_parameter(self, classifier: TextClassifier) -> None:
        """Those that are trained; a weight without a gradient is one by mistake."""
        model = copy.deepcopy(classifier.model).eval()
        ids = classifier.encode(texts_to_enumerate(classifier, 12))
        batch = next(iter(batches(ids, size=12, words=1 << 12))).ids
        loss = torch.nn.functional.cross_entropy(model(batch), torch.arange(len(batch)) % 3)
        named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        slopes = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
        for name, slope in zip(named, slopes, strict=True):
            assert slope.isfinite().all(), name
            assert slope.abs().max() > 0, name

    def test_no_version_of_a_text_exceeds_the_worst_case(self, classifier: TextClassifier) -> None:
        """Every version is written as words, read anew and looked at; without substitutes the worst case is exact."""
        model = in_float64(classifier.model)
        for label, text in enumerate(texts_to_enumerate(classifier, 3)):
            choices = substitutions_of(classifier, text)
            asked = (choices.mask, torch.tensor([label]))
            worst = worst_case_logits(model, choices.ids, choices.allowed, *asked)[0]
            others = torch.cat([worst[:label], worst[label + 1 :]])
            assert float(worst[label]) == 0
            assert bool((-others <= least_margins(classifier, model, text, label, budget=None) + 1e-9).all())
            alone = worst_case_logits(model, choices.ids[..., :1], choices.allowed[..., :1], *asked)[0]
            own = least_margins(classifier, model, text, label, budget=0)
            assert torch.allclose(-torch.cat([alone[:label], alone[label + 1 :]]), own, atol=1e-9)

    def test_the_slack_covers_what_rounding_does(self, classifier: TextClassifier) -> None:
        """Margins as the classifier computes them, beside those in float64."""
        precise, slack = in_float64(classifier.model), rounding_slack(classifier)
        for text in texts_to_enumerate(classifier, 3):
            ids = classifier.encode(versions(classifier, text))
            batch = torch.tensor(np.stack([ids[row] for row in range(len(ids))]))
            difference = classifier.logits_of(ids) - precise(batch)
            assert 2 * float(difference.abs().max()) <= slack

    def test_an_attack_is_answered_as_by_the_model(self, classifier: TextClassifier) -> None:
        """The engine that answers thousands of questions at once, beside `predict` on the texts as strings."""
        victim = victim_of(classifier)
        for text in texts_to_enumerate(classifier, 3):
            tokens = classifier.tokenizer.tokenize(text)
            space = SearchSpace.of(tokens.words, TABLE)
            positions, chosen = space.swaps
            question = Query(space.original[None], WordSwaps(np.zeros_like(positions), positions, chosen))
            (answer,) = victim.answers([victim.open(tokens, space)], [question])
            new = (tokens.written({int(at): space.options[at][to]}) for at, to in zip(positions, chosen, strict=True))
            expected = classifier.predict([text, *map(str, new)]).probabilities
            assert np.allclose(np.concatenate([answer.texts, answer.swaps]), expected, atol=2e-6)
