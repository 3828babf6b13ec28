"""What contracts are tried on: short made-up texts, every version of which can be enumerated, and trained models."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sgbt.core.registry import MODELS
from sgbt.data import TextDataset
from sgbt.evaluate.toy import toy_dataset, toy_table, toy_vectors
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionIndex
from sgbt.training import TrainingConfig, train

TABLE = toy_table()
QUICK = TrainingConfig(epochs=2, batch_size=16, learning_rate=0.02, max_length=32, minimum_count=1)
SMALL: dict[str, dict[str, Any]] = {"cnn": {"filters": 6, "kernel_sizes": (1, 2)}, "bilstm": {"hidden": 4}}
"""Options that make models small enough to be tried within seconds; those of other names are as they are."""


def texts_to_enumerate(classifier: TextClassifier, count: int, *, most: int = 100) -> list[str]:
    """Texts that can become a few others, and at most so many."""
    found = []
    for text in toy_dataset("toy").test.texts:
        if 1 < len(versions(classifier, text)) <= most:
            found.append(text)
        if len(found) == count:
            return found
    raise AssertionError(f"expected {count} texts of at most {most} versions, got {len(found)}")


def versions(classifier: TextClassifier, text: str, *, budget: int | None = None) -> list[str]:
    """Every text that one text can become by at most so many substitutions, itself first: made of words, not of ids."""
    words = classifier.tokenizer.words(text)
    choices = [(word, *TABLE.substitutes(word)) for word in words]
    within = len(words) if budget is None else budget
    return [
        " ".join(version)
        for version in itertools.product(*choices)
        if sum(new != old for new, old in zip(version, words, strict=True)) <= within
    ]


def least_margins(classifier: TextClassifier, model: Any, text: str, label: int, *, budget: int | None) -> Tensor:
    """The least (logit of the label - logit of another class) over all versions of a text, [other classes]."""
    ids = [classifier.vocabulary.encode(each.split()) for each in versions(classifier, text, budget=budget)]
    with torch.no_grad():
        logits = model(torch.tensor(ids))
    margins: Tensor = (logits[:, label : label + 1] - logits).amin(dim=0)
    return torch.cat([margins[:label], margins[label + 1 :]])


def substitutions_of(classifier: TextClassifier, text: str) -> Any:
    """The ids that may stand in the places of a text, [1, words, choices]."""
    index = SubstitutionIndex.build(TABLE, classifier.vocabulary)
    return index.for_words([classifier.tokenizer.words(text)])


def classifier_of(name: str, options: Mapping[str, Any] | None = None, *, data: str = "toy") -> TextClassifier:
    """A model of the registry trained for a moment; each is trained once."""
    chosen = SMALL.get(name, {}) if options is None else options
    return _trained(name, tuple(sorted(chosen.items())), data)


def untrained(name: str, dataset: TextDataset, options: Mapping[str, Any] | None = None) -> Any:
    """A model of the registry for a dataset, over the toy vectors."""
    kind = MODELS[name]
    chosen = SMALL.get(name, {}) if options is None else options
    return kind.untrained(kind.Options(classes=dataset.classes, **chosen), toy_vectors)


@cache
def _trained(name: str, options: tuple[tuple[str, Any], ...], data: str) -> TextClassifier:
    dataset = toy_dataset(data)
    model = untrained(name, dataset, dict(options))
    return train(model, dataset, substitutions=TABLE, config=QUICK).model
