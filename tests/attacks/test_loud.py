"""A search may see in float32 what the model does not decide: such a text is no success, and the search goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.attacks.world import World

from sgbt.attacks import attack
from sgbt.models import BiLSTM, TextClassifier, WordEmbedding
from sgbt.threats import SubstitutionTable

LENGTH = 40
"""Words in which float32 loses its way and float64 does not."""


def loud(world: World, pooling: str) -> TextClassifier:
    """A BiLSTM whose weights are fifty times as large as usual: rounding grows from word to word."""
    torch.manual_seed(0)
    model = BiLSTM(WordEmbedding(world.vectors.float()), hidden=32, dropout=0.0, pooling=pooling)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embedding" not in name:
                weight.mul_(50)
    return TextClassifier(model.eval(), world.vocabulary, ("a", "b"), world.table)


@pytest.mark.parametrize("method", ["greedy", "pwws", "genetic:openattack", "pso:openattack", "beam"])
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_loud_model_is_attacked_without_a_bug(method: str, pooling: str, world: World) -> None:
    classifier = loud(world, pooling)
    texts, _ = world.texts(10, length=LENGTH)
    rows = attack(classifier, texts, world.table, method=method, max_queries=1500)
    said = classifier.predict([row.perturbed for row in rows]).probabilities.argmax(axis=1).tolist()
    assert said == [row.after for row in rows]
    assert all((row.status == "success") == (row.after != row.label) for row in rows)
    alone = [attack(classifier, [text], world.table, method=method, max_queries=1500)[0] for text in texts[:3]]
    assert [replace(row, seconds=0.0) for row in rows[:3]] == [
        replace(row, seconds=0.0, index=place) for place, row in enumerate(alone)
    ]
    assert any(row.status == "success" for row in rows)


def test_a_model_that_even_float64_loses_is_attacked_without_a_bug(world: World) -> None:
    texts, _ = world.texts(10, length=120)
    rows = attack(loud(world, "last"), texts, world.table, method="greedy", max_queries=1500)
    assert {row.status for row in rows} <= {"success", "failed"}


class Fickle:
    """A victim that takes back what it said of some texts when it is shown them alone, as rounding can do."""

    def __init__(self, shy: Callable[[str], bool]) -> None:
        self.shy, self.shown = shy, list[str]()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        lone = len(texts) == 1
        self.shown += texts if lone else []
        broken = np.array([0.9 - 0.3 * (text.count("c") + text.count("d")) for text in texts])
        broken = np.where([lone and self.shy(text) for text in texts], 0.9, broken.clip(0.05))
        return np.stack([broken, 1 - broken], axis=1)


def test_the_search_goes_on_after_a_text_that_was_taken_back() -> None:
    table = SubstitutionTable({"bb": ("cc", "dd"), "ee": ("cc",)})
    text = "bb bb ee xx"
    for method in ("greedy", "beam", "pwws"):
        some = Fickle(lambda shown: shown.startswith("cc"))
        (row,) = attack(some, [text], table, method=method, labels=[0], together=1)
        assert row.status == "success", method
        assert not row.perturbed.startswith("cc")
        every = Fickle(lambda shown: shown != text)
        (row,) = attack(every, [text], table, method=method, labels=[0], together=1)
        assert (row.status, row.perturbed, row.swaps) == ("failed", text, ())
        assert len(set(every.shown)) == len(every.shown) - every.shown.count(text) + 1  # none is tried twice
