"""A trained folder as a model of other frameworks: what they call gives what the classifier says.

The frameworks themselves are not dependencies. Where one is installed, its own class is used; elsewhere a stand-in of
the same shape, which checks that the bridge asks for nothing but the base class.
"""

from __future__ import annotations

import csv
import sys
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests import small

import sgbt
from sgbt.attacks import read_rows, write_textattack_csv
from sgbt.bridges import openattack_classifier, textattack_wrapper
from sgbt.core.errors import ModelError
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


def test_textattack_asks_a_wrapper(classifier: TextClassifier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    sgbt.attack(wrapper, TEXTS, small.TABLE, out=tmp_path / "rows.jsonl")
    assert {row.model_hash for row in read_rows(tmp_path / "rows.jsonl")} == {classifier.identity}


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
    sgbt.attack(victim.get_prob, TEXTS, small.TABLE, out=tmp_path / "rows.jsonl")
    assert {row.model_hash for row in read_rows(tmp_path / "rows.jsonl")} == {classifier.identity}


@pytest.mark.parametrize(
    ("bridge", "package"), [(textattack_wrapper, "textattack"), (openattack_classifier, "OpenAttack")]
)
def test_a_missing_framework_is_one_sentence(
    bridge: Any, package: str, classifier: TextClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=f"expected the package {package}.*pip install {package}"):
        bridge(classifier)


def test_results_are_rows_as_textattack_logs_them(classifier: TextClassifier, tmp_path: Path) -> None:
    texts = [" ".join(words) for words in small.random_texts(30, 6, 3, shortest=4)]
    labels = [number % 2 for number in range(30)]
    results = sgbt.attack(classifier, texts, small.TABLE, method="greedy", labels=labels)
    write_textattack_csv(results, tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == [  # of textattack.loggers.CSVLogger
        "original_text", "perturbed_text", "original_score", "perturbed_score", "original_output", "perturbed_output",
        "ground_truth_output", "num_queries", "result_type",
    ]  # fmt: skip
    names = {"success": "Successful", "failed": "Failed", "skipped": "Skipped"}
    assert [row["result_type"] for row in rows] == [names[result.status] for result in results]
    assert {row["result_type"] for row in rows} == set(names.values())
    assert [int(float(row["ground_truth_output"])) for row in rows] == labels
    for row, result in zip(rows, results, strict=True):
        assert row["perturbed_text"].replace("[[", "").replace("]]", "") == (result.perturbed or result.original)
        assert row["perturbed_text"].count("[[") == len(result.swaps)


def real(module: str) -> Any:
    """A framework as it is installed; it may be there and yet lack what it loads when it is imported."""
    try:
        return import_module(module)
    except (ImportError, LookupError) as problem:
        pytest.skip(f"no {module} here: {str(problem).strip()[:80]}")


@pytest.mark.soak
def test_the_real_textattack_breaks_what_ours_breaks(classifier: TextClassifier) -> None:
    textattack = real("textattack")
    swaps = real("textattack.transformations").WordSwap

    class OwnTable(swaps):  # type: ignore[misc, valid-type]
        def _get_replacement_words(self, word: str) -> tuple[str, ...]:
            return small.TABLE.substitutes(word)

    attack = textattack.Attack(
        real("textattack.goal_functions").UntargetedClassification(textattack_wrapper(classifier)),
        [real("textattack.constraints.pre_transformation").RepeatModification()],
        OwnTable(),
        real("textattack.search_methods").BeamSearch(beam_width=100),
    )
    broken = 0
    for words in small.random_texts(12, 6, 3, shortest=4):
        text = " ".join(words)
        (ours,) = sgbt.attack(classifier, [text], small.TABLE, method="beam")
        theirs = type(attack.attack(text, ours.label)).__name__
        assert theirs == {"success": "SuccessfulAttackResult", "failed": "FailedAttackResult"}[ours.status]
        broken += ours.status == "success"
    assert 0 < broken < 12


@pytest.mark.soak
def test_the_real_openattack_asks_a_victim(classifier: TextClassifier) -> None:
    base = real("OpenAttack.victim.classifiers").Classifier
    victim = openattack_classifier(classifier)
    assert isinstance(victim, base)
    victim.set_context(None, 10)
    np.testing.assert_array_equal(victim.get_prob(TEXTS), classifier.predict(TEXTS).probabilities)
    assert {str(tag).split(":")[-1] for tag in victim.TAGS} >= {"get_pred", "get_prob"}
