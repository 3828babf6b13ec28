"""The compiled LSTM step: what torch computes, and the same attacks as without it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.attacks.world import World

from sgbt.attacks import attack
from sgbt.attacks.queries.bilstm import _inputs, _recurrent, compiled_step
from sgbt.attacks.queries.lstm_cell import step
from sgbt.models import TextClassifier


@pytest.mark.parametrize("size", [1, 5, 16, 67])
def test_a_step_is_what_torch_computes(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    lstm = torch.nn.LSTM(3, size)
    words, rows = torch.randn(4, 3, generator=generator) * 3, torch.tensor([0, 3, 3, 1, 2, 0])
    hidden, cell = (torch.randn(len(rows), size, generator=generator) * 2 for _ in range(2))
    with torch.no_grad():
        _, (wanted_hidden, wanted_cell) = lstm.double()(
            words[rows].double().unsqueeze(0), (hidden.double().unsqueeze(0), cell.double().unsqueeze(0))
        )
        lstm.float()
        gates = 2 * hidden @ _recurrent(lstm)
        found_cell, found_hidden = cell.numpy().copy(), np.empty_like(cell.numpy())
        step(gates.numpy(), _inputs(lstm, words).numpy(), rows.numpy(), found_cell, found_hidden)
    assert np.abs(found_cell - wanted_cell[0].numpy()).max() < 3e-6
    assert np.abs(found_hidden / 2 - wanted_hidden[0].numpy()).max() < 1e-6


def test_far_inputs_saturate_and_what_is_not_a_number_stays_so() -> None:
    gates = np.array([[1e30, 1e30, 1e30, 1e30], [-1e30, -1e30, -1e30, 1e30], [np.nan, 0, 0, 0]], np.float32)
    cell, hidden = np.ones((3, 1), np.float32), np.zeros((3, 1), np.float32)
    step(gates, np.zeros((1, 4), np.float32), np.zeros(3, np.int64), cell, hidden)
    assert cell[:2, 0] == pytest.approx([2.0, 0.0], abs=1e-6)
    assert hidden[:2, 0] == pytest.approx([2 * np.tanh(2.0), 0.0], abs=1e-6)
    assert np.isnan(cell[2, 0])
    assert np.isnan(hidden[2, 0])


@pytest.mark.parametrize("kind", ["bilstm", "bilstm-mean", "bilstm-max"])
def test_attacks_are_the_same_without_it(
    kind: str, world: World, classifier_of: Callable[..., TextClassifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = classifier_of(kind)
    texts, _ = world.texts(12, length=14, seed=3)
    classifier.model.float()
    try:
        assert compiled_step(np.zeros(1, np.float32)) is step
        with_it = attack(classifier, texts, world.table, method="pwws")
        monkeypatch.setitem(sys.modules, "sgbt.attacks.queries.lstm_cell", None)
        assert compiled_step(np.zeros(1, np.float32)) is None
        without = attack(classifier, texts, world.table, method="pwws")
    finally:
        classifier.model.double()
    assert [result.swaps for result in with_it] == [result.swaps for result in without]
    assert any(result.swaps for result in with_it)


def test_double_precision_is_not_for_it() -> None:
    assert compiled_step(np.zeros(1)) is None
