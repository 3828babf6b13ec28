"""The kernels of interval propagation, each against sampled points of its box."""

from __future__ import annotations

import torch
from torch import nn

from sgbt.bounds.ibp import (
    extremes_over_choices,
    scaled_by_gate,
    through_linear,
    through_lstm,
    through_windows,
    worst_logits,
)


def boxes(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    ends = torch.randn(2, *shape, dtype=torch.float64).sort(dim=0).values
    return ends[0], ends[1]


def inside(box: tuple[torch.Tensor, torch.Tensor], count: int) -> torch.Tensor:
    share = torch.rand(count, *box[0].shape, dtype=torch.float64)
    share[::2] = share[::2].round()  # corners as well
    return box[0] + share * (box[1] - box[0])


def test_extremes_are_those_of_the_allowed_choices_alone() -> None:
    values = torch.tensor([[1.0, -5.0], [3.0, 2.0], [-9.0, 9.0]])
    choices, allowed = torch.tensor([[0, 1, 2], [1, 1, 1]]), torch.tensor([[True, True, False], [True, False, False]])
    lower, upper = extremes_over_choices(values, choices, allowed)
    assert lower.tolist() == [[1.0, -5.0], [3.0, 2.0]]
    assert upper.tolist() == [[3.0, 2.0], [3.0, 2.0]]
    lower, upper = extremes_over_choices(values, choices, allowed, epsilon=0.5)
    assert lower.tolist() == [[1.0, -5.0], [3.0, 2.0]]
    assert upper.tolist() == [[2.0, -1.5], [3.0, 2.0]]


def test_windows_add_the_ends_of_their_words() -> None:
    torch.manual_seed(0)
    ends = [boxes(4, 2) for _ in range(3)]
    bias, places = torch.randn(2, dtype=torch.float64), torch.tensor([[0, 1, 2, 3], [3, 3, 0, 0]])
    lower, upper = through_windows([low for low, _ in ends], [high for _, high in ends], bias, places)
    assert lower.shape == (2, 2, 2)
    by_hand = bias + ends[0][0][1] + ends[1][0][2] + ends[2][0][3]
    assert torch.allclose(lower[0, 1], by_hand)
    assert bool((lower <= upper).all())


def test_linear_maps_and_gates_hold_every_point_of_their_box() -> None:
    torch.manual_seed(1)
    box, weight, bias = boxes(5), torch.randn(3, 5, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    lower, upper = through_linear(box, weight, bias)
    reached = inside(box, 400) @ weight.T + bias
    assert bool(((lower - 1e-12 <= reached) & (reached <= upper + 1e-12)).all())
    both = through_linear((box[0][None], box[1][None]), weight[None], bias)
    assert torch.allclose(both[0][0], lower)
    gate = tuple(torch.rand(2, 5, dtype=torch.float64).sort(dim=0).values)
    lower, upper = scaled_by_gate(gate, box)
    reached = inside(gate, 400) * inside(box, 400)
    assert bool(((lower - 1e-12 <= reached) & (reached <= upper + 1e-12)).all())


def test_states_of_an_lstm_stay_in_their_boxes_at_every_step() -> None:
    torch.manual_seed(2)
    lstm = nn.LSTM(3, 4, dtype=torch.float64)
    words = boxes(6, 1, 2, 3)
    bias = lstm.bias_ih_l0 + lstm.bias_hh_l0
    gates = through_linear(words, lstm.weight_ih_l0, bias)
    lower, upper = through_lstm(gates, lstm.weight_hh_l0.unsqueeze(0))
    for point in inside(words, 60):
        states = lstm(point[:, 0])[0]
        assert bool((lower[:, 0] - 1e-12 <= states).all())
        assert bool((states <= upper[:, 0] + 1e-12).all())


def test_worst_logits_are_exact_over_the_box_of_features() -> None:
    torch.manual_seed(3)
    box, weight, bias = boxes(2, 4), torch.randn(3, 4, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    labels = torch.tensor([2, 0])
    worst = worst_logits(box, weight, bias, labels)
    for row, label in enumerate(labels.tolist()):
        for other in range(3):
            difference = weight[other] - weight[label]
            corner = torch.where(difference > 0, box[1][row], box[0][row])
            expected = difference @ corner + bias[other] - bias[label]
            assert torch.allclose(worst[row, other], expected if other != label else torch.zeros(()).double())
