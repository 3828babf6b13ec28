"""A trained folder as a model of other frameworks: what they call gives what the classifier says.

The frameworks themselves are not dependencies. Where one is installed, its own class is used; elsewhere a stand-in of
the same shape, which checks that the bridge asks for nothing but the base class.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests import small

from sgbt.bridges import openattack_classifier, textattack_wrapper
from sgbt.errors import ModelError
from sgbt.models import TextClassifier, save_classifier

TEXTS = ["a good film", "the plot was awful", ""]


@pytest.fixture
def classifier() -> TextClassifier:
    return TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("negative", "positive"), small.TABLE, 16)


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    for end in range(1, len(name.split(".")) + 1):
        monkeypatch.setitem(sys.modules, ".".join(name.split(".")[:end]), ModuleType(name))
    for attribute, value in content.items():
        setattr(sys.modules[name], attribute, value)


def test_textattack_asks_a_wrapper(classifier: TextClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    class ModelWrapper(ABC):
        @abstractmethod
        def __call__(self, text_input_list: list[str], **kwargs: Any) -> Any: ...

        def tokenize(self, inputs: list[str]) -> list[list[str]]:
            return self._tokenize(inputs)  # type: ignore[attr-defined]

    stand_in(monkeypatch, "textattack.models.wrappers", ModelWrapper=ModelWrapper)
    wrapper = textattack_wrapper(classifier)
    assert isinstance(wrapper, ModelWrapper)
    np.testing.assert_array_equal(wrapper(TEXTS), classifier.predict(TEXTS).probabilities)
    assert wrapper.tokenize(["A good film!"]) == [["a", "good", "film", "!"]]
    assert wrapper.model is classifier.model


def test_openattack_asks_a_classifier(
    classifier: TextClassifier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[str] = []

    class Classifier:
        def __init_subclass__(cls) -> None:  # OpenAttack looks for the methods that a victim has
            seen.extend(name for name in ("get_pred", "get_prob", "get_grad") if hasattr(cls, name))

    stand_in(monkeypatch, "OpenAttack.victim.classifiers", Classifier=Classifier)
    folder = save_classifier(classifier, tmp_path / "run")
    victim = openattack_classifier(folder)
    assert isinstance(victim, Classifier)
    assert seen == ["get_pred", "get_prob"]
    probabilities = classifier.predict(TEXTS).probabilities
    np.testing.assert_array_equal(victim.get_prob(TEXTS), probabilities)
    np.testing.assert_array_equal(victim.get_pred(TEXTS), probabilities.argmax(axis=1))


@pytest.mark.parametrize(
    ("bridge", "package"), [(textattack_wrapper, "textattack"), (openattack_classifier, "OpenAttack")]
)
def test_a_missing_framework_is_one_sentence(
    bridge: Any, package: str, classifier: TextClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=f"wanted the package {package}.*pip install {package}"):
        bridge(classifier)


@pytest.mark.soak
def test_the_real_textattack_breaks_a_model(classifier: TextClassifier) -> None:
    textattack = pytest.importorskip("textattack")
    from textattack.constraints.pre_transformation import RepeatModification
    from textattack.goal_functions import UntargetedClassification
    from textattack.search_methods import GreedySearch
    from textattack.transformations import WordSwapRandomCharacterDeletion

    attack = textattack.Attack(
        UntargetedClassification(textattack_wrapper(classifier)),
        [RepeatModification()],
        WordSwapRandomCharacterDeletion(),
        GreedySearch(),
    )
    label = int(classifier.predict(["a good film with a plot"]).probabilities.argmax())
    result = attack.attack("a good film with a plot", label)
    assert type(result).__name__ in ("SuccessfulAttackResult", "FailedAttackResult")
    assert result.num_queries > 1


@pytest.mark.soak
def test_the_real_openattack_asks_a_victim(classifier: TextClassifier) -> None:
    base = pytest.importorskip("OpenAttack.victim.classifiers").Classifier
    victim = openattack_classifier(classifier)
    assert isinstance(victim, base)
    victim.set_context(None, 10)
    np.testing.assert_array_equal(victim.get_prob(TEXTS), classifier.predict(TEXTS).probabilities)
    assert {str(tag).split(":")[-1] for tag in victim.TAGS} >= {"get_pred", "get_prob"}
