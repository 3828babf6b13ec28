"""The dynamic programme gives exactly what enumeration gives."""

from __future__ import annotations

import pytest
import torch
from tests.soundness.cases import ACTIVATIONS, random_cnn, random_question

from sgbt.certify import exhaustive, in_float64, margin_bounds
from sgbt.certify.cnn.chain import chain_margins
from sgbt.certify.cnn.windows import window_boxes
from sgbt.certify.word_tables import WordTables


@pytest.mark.parametrize("budget", [None, 0, 1, 2, 9])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_least_margin_is_that_of_enumeration(activation: str, budget: int | None) -> None:
    for seed in range(3):
        model = in_float64(random_cnn(seed, classes=2 + seed, pooling="mean", activation=activation))
        question = random_question(seed, classes=2 + seed, words=6, budget=budget)
        exact = torch.stack([exhaustive(model, question, text).margins for text in range(len(question))])
        assert torch.allclose(margin_bounds("exact", model, question), exact, rtol=0, atol=1e-12)


def test_a_window_with_too_many_choices_leaves_its_text_undecided_and_no_other() -> None:
    model = in_float64(random_cnn(0, classes=2, pooling="mean"))
    question = random_question(0, classes=2)
    windows = window_boxes(model, question, WordTables())
    free = chain_margins(model, windows)
    tight = chain_margins(model, windows, most=4)
    undecided = tight.isinf().all(dim=1)
    assert undecided.any()
    assert not undecided.all()
    assert torch.equal(tight[~undecided], free[~undecided])
