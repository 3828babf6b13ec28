"""Attacks against what is known to be true: enumeration of short texts, and certificates."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.attacks.world import World, trained

from sgbt.attacks import attack, method_named
from sgbt.attacks.search.ensemble import WHITE_BOX, Ensemble
from sgbt.models import TextClassifier, worst_case_logits
from sgbt.threats import SubstitutionIndex

METHODS_TO_JUDGE = (
    "pwws",
    "greedy",
    "beam",
    "gradient",
    "genetic",
    "genetic:openattack",
    "pso:quick",
    "pso:openattack",
)


def breakable(classifier: TextClassifier, world: World, text: str, label: int) -> bool:
    """Whether any text of the allowed set has another label: all of them are asked."""
    options = [(word, *world.table.substitutes(word)) for word in text.split()]
    variants = [" ".join(words) for words in itertools.product(*options)]
    return bool((classifier.predict(variants).probabilities.argmax(axis=1) != label).any())


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_ensemble_finds_what_enumeration_proves_to_exist(
    kind: str, record_property: Callable[[str, object], None]
) -> None:
    world = World.of(spread=0.6, seed=4)
    classifier = trained(world, kind, seed=3)
    texts, labels = world.texts(90, length=5, seed=9)
    right = classifier.predict(texts).probabilities.argmax(axis=1) == labels
    chosen = [
        (text, label)
        for text, label, correct in zip(texts, labels, right, strict=True)
        if correct and breakable(classifier, world, text, label)
    ]
    assert len(chosen) >= 20
    found: Counter[str] = Counter()
    for name in (*METHODS_TO_JUDGE, "ensemble"):
        method = Ensemble(parts=WHITE_BOX) if name == "ensemble" else method_named(name)
        options = {} if name == "ensemble" else {"max_changed": 1.0}
        results = attack(
            classifier, [text for text, _ in chosen], world.table, labels=[label for _, label in chosen],
            method=method if name == "ensemble" else name, **options,
        )  # fmt: skip
        found[name] = sum(result.status == "success" for result in results)
    for name, count in found.items():
        record_property(f"{kind} {name}", f"{count} of {len(chosen)}")
        print(f"{kind} {name}: {count} of {len(chosen)} breakable texts broken")
    assert found["ensemble"] >= 0.95 * len(chosen)
    assert found["ensemble"] == max(found.values())


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "two-channel"])
def test_no_attack_breaks_a_certified_text(kind: str) -> None:
    world = World.of(spread=0.1)
    classifier = trained(world, kind)
    texts, labels = world.texts(24, length=10)
    index = SubstitutionIndex.build(world.table, world.vocabulary)
    allowed = index.for_words([text.split() for text in texts])
    with torch.no_grad():
        bounds = worst_case_logits(
            classifier.model, allowed.ids, allowed.allowed, allowed.mask, torch.tensor(labels)
        ).numpy()
    others = np.where(np.arange(2) == np.array(labels)[:, None], -np.inf, bounds)
    certified = others.max(axis=1) < -1e-9
    assert certified.sum() >= 5
    rows = np.flatnonzero(certified)
    for name in METHODS_TO_JUDGE:
        results = attack(
            classifier, [texts[row] for row in rows], world.table, labels=[labels[row] for row in rows], method=name,
            **({"particles": 6, "iterations": 4} if name.startswith("pso") else {}),
            **({"population": 8, "generations": 5} if name.startswith("genetic") else {}),
        )  # fmt: skip
        assert {result.status for result in results} == {"failed"}, name
