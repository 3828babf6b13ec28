"""AttackContract: what every attack must do, whatever it searches by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sgbt.attacks import AttackResult, attack, method_named
from sgbt.attacks.result import FAILED, SUCCESS
from sgbt.evaluate.toy import toy_dataset
from sgbt.models import TextClassifier
from sgbt.testing.world import TABLE, classifier_of

TEXTS = 12


class AttackContract:
    """Inherit, with a fixture `name`: the name of an attack in the registry. `options` make it quick."""

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """Options of the attack."""
        return {}

    @pytest.fixture(params=["cnn", "bilstm"])
    def classifier(self, request: pytest.FixtureRequest) -> TextClassifier:
        """The victims."""
        return classifier_of(request.param, data="toy3")

    def test_it_has_the_name_that_it_is_listed_by(self, name: str) -> None:
        """A preset has the name of its method before a colon."""
        assert method_named(name).name.split(":")[0] == name.split(":")[0]

    def test_a_success_is_an_adversarial_example(
        self, name: str, options: Mapping[str, Any], classifier: TextClassifier
    ) -> None:
        """Its text has another label and differs by swaps of the table; a seed finds the same in any order."""
        results = attacked(classifier, name, options)
        for result in results:
            words, changed = (classifier.tokenizer.words(each) for each in (result.original, result.perturbed))
            assert classifier.predict([result.perturbed]).probabilities[0].argmax() == result.after
            assert (result.status == FAILED) == (result.after == result.label)
            assert (result.status == SUCCESS) == bool(result.swaps)
            moved = {
                place: (old, new) for place, (old, new) in enumerate(zip(words, changed, strict=True)) if old != new
            }
            assert {swap.position: (swap.old, swap.new) for swap in result.swaps} == moved
            assert all(new in TABLE.substitutes(old) for old, new in moved.values())
        backwards = attacked(classifier, name, options, backwards=True)
        assert untimed(results) == untimed(backwards[::-1])

    def test_queries_are_counted_and_their_limit_is_kept(
        self, name: str, options: Mapping[str, Any], classifier: TextClassifier
    ) -> None:
        """What is found within the limit needs no more than without it."""
        free = attacked(classifier, name, options)
        for result, limited in zip(free, attacked(classifier, name, options, max_queries=9), strict=True):
            assert limited.queries <= 9
            assert limited.status != SUCCESS or result.status == SUCCESS
        assert any(result.queries for result in free)

    def test_texts_without_anything_to_replace_are_not_broken(
        self, name: str, options: Mapping[str, Any], classifier: TextClassifier
    ) -> None:
        """No words, unknown words, and words without substitutes."""
        texts = ["", " ", "zzz", "the and with", "...!?"]
        results = attack(classifier, texts, TABLE, method=name, **options)
        assert [(result.status, result.queries, result.perturbed) for result in results] == [
            (FAILED, 0, text) for text in texts
        ]
        (odd,) = attack(classifier, ["film İß 😀 don't"], TABLE, method=name, **options)
        assert odd.perturbed in ("film İß 😀 don't", "movie İß 😀 don't")


def attacked(
    classifier: TextClassifier,
    name: str,
    options: Mapping[str, Any],
    *,
    backwards: bool = False,
    max_queries: int | None = None,
) -> list[AttackResult]:
    """The attack on some texts of test."""
    split = toy_dataset("toy3").test[:TEXTS]
    step = -1 if backwards else 1
    texts, labels = list(split.texts)[::step], split.labels.tolist()[::step]
    return attack(classifier, texts, TABLE, method=name, labels=labels, seed=3, max_queries=max_queries, **options)


def untimed(results: list[AttackResult]) -> list[AttackResult]:
    """Results without what the clock and the order of texts decide."""
    return [replace(result, seconds=0.0, index=0) for result in results]
