"""The layers whose bounds must pass the contract: for each, a module, its map as a plain function, and its bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from tests.reference.cell import function_of_cell, lstm_function
from tests.strategies import random_cell, random_conv
from torch import Tensor, nn

from sgbt.bounds import ConvBounds, Interval, LSTMCellBounds, StackedCurvature, StackedGrowth

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    """A layer on flat inputs: how to make it in a precision, what it computes, and how it is bounded over a box."""

    name: str
    inputs: int
    module: Callable[[torch.dtype], nn.Module]
    function: Callable[[Any], Function]
    bounds: Callable[[Any, Interval], Any]


def split(box: Interval, d0: int, d: int) -> dict[str, Interval]:
    return {"inputs": box[:d0], "hidden": box[d0 : d0 + d], "cell_state": box[d0 + d :]}


def lstm_case(name: str, d0: int, d: int, make: Callable[[torch.dtype], nn.LSTMCell]) -> Case:
    return Case(
        name,
        d0 + 2 * d,
        make,
        function_of_cell,
        lambda cell, box: LSTMCellBounds.of(cell, **split(box, d0, d)),
    )


def direction_case(direction: str, layer: int) -> Case:
    """One direction of the second layer of a bidirectional LSTM, whose inputs are both directions of the first."""
    suffix = f"_l{layer}" + ("_reverse" if direction == "backward" else "")

    def make(dtype: torch.dtype) -> nn.LSTM:
        torch.manual_seed(5)
        return nn.LSTM(3, 2, num_layers=2, bidirectional=True, dtype=dtype)

    def function(lstm: nn.LSTM) -> Function:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        theta, hidden, first, second = (getattr(lstm, name + suffix) for name in names)
        return lstm_function(theta, hidden, first + second)

    d0 = 3 if layer == 0 else 4

    def bounds(lstm: nn.LSTM, box: Interval) -> LSTMCellBounds:
        return LSTMCellBounds.of(lstm, direction=direction, layer=layer, **split(box, d0, 2))

    return Case(f"LSTM {direction}, layer {layer}", d0 + 4, make, function, bounds)


FUNCTIONS = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": nn.functional.gelu,
    "relu": torch.relu,
    "softplus": lambda z: -nn.functional.logsigmoid(-z),  # torch's own softplus is not exact beyond 20
}


def conv_function(conv: nn.Conv1d, length: int, activation: str, pooling: str) -> Function:
    def function(x: Tensor) -> Tensor:
        words = x.view(length, conv.in_channels).T[None]
        z = nn.functional.conv1d(words, conv.weight, conv.bias, padding=conv.padding)[0]
        values = FUNCTIONS[activation](z)
        return values.amax(1) if pooling == "max" else values.mean(1)

    return function


def conv_case(activation: str, pooling: str, *, padding: int = 0, bias: bool = True, kernel: int = 2) -> Case:
    length, d0, filters = 4, 2, 2

    def make(dtype: torch.dtype) -> nn.Conv1d:
        return random_conv(d0, filters, kernel, scale=0.8, seed=11, padding=padding, bias=bias, dtype=dtype)

    def bounds(conv: nn.Conv1d, box: Interval) -> ConvBounds:
        words = Interval(box.lower.view(length, d0), box.upper.view(length, d0))
        return ConvBounds.of(conv, length=length, activation=activation, pooling=pooling, inputs=words)

    name = f"{activation}, {pooling} pooling, kernel {kernel}, padding {padding}" + ("" if bias else ", no bias")
    return Case(name, length * d0, make, lambda conv: conv_function(conv, length, activation, pooling), bounds)


def stacked_case(pooling: str) -> Case:
    parts = [conv_case("tanh", pooling, kernel=kernel) for kernel in (2, 3)]

    def bounds(convs: nn.ModuleList, box: Interval) -> Any:
        each = [part.bounds(conv, box) for part, conv in zip(parts, convs, strict=True)]
        return SimpleNamespace(
            growth=StackedGrowth([b.growth for b in each]), curvature=StackedCurvature([b.curvature for b in each])
        )

    def function(convs: nn.ModuleList) -> Function:
        functions = [part.function(conv) for part, conv in zip(parts, convs, strict=True)]
        return lambda x: torch.cat([f(x) for f in functions])

    return Case(
        f"two kernels, {pooling} pooling",
        parts[0].inputs,
        lambda dtype: nn.ModuleList(part.module(dtype) for part in parts),
        function,
        bounds,
    )


@lru_cache
def trained_weights() -> dict[str, Tensor]:
    """A cell trained for a while to tell the sign of a sum: weights far from their initial scale, and correlated."""
    torch.manual_seed(0)
    cell, head = nn.LSTMCell(3, 3, dtype=torch.float64), nn.Linear(3, 1, dtype=torch.float64)
    optimiser = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.05)
    for _ in range(80):
        words = torch.randn(32, 6, 3, dtype=torch.float64)
        state = None
        for t in range(6):
            state = cell(words[:, t], state)
        target = (words.sum((1, 2)) > 0).double()
        loss = nn.functional.binary_cross_entropy_with_logits(head(state[0])[:, 0], target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.5
    return {name: value.detach().clone() for name, value in cell.state_dict().items()}


def trained_cell(dtype: torch.dtype) -> nn.LSTMCell:
    cell = nn.LSTMCell(3, 3, dtype=dtype)
    cell.load_state_dict(trained_weights())
    return cell


LSTM_CASES = [
    lstm_case("LSTM cell", 3, 2, lambda dtype: random_cell(3, 2, scale=1.0, seed=1, dtype=dtype)),
    lstm_case("LSTM cell, one number each", 1, 1, lambda dtype: random_cell(1, 1, scale=2.0, seed=2, dtype=dtype)),
    lstm_case("LSTM cell, no bias", 2, 2, lambda dtype: random_cell(2, 2, scale=1.0, seed=3, bias=False, dtype=dtype)),
    lstm_case("LSTM cell, trained", 3, 3, trained_cell),
    direction_case("forward", 0),
    direction_case("backward", 1),
]
AVERAGE_CASES = [
    conv_case("tanh", "average"),
    conv_case("sigmoid", "average", padding=1, kernel=3),
    conv_case("gelu", "average", padding=2, kernel=3),
    conv_case("softplus", "average", bias=False),
    stacked_case("average"),
]
MAX_CASES = [
    conv_case("tanh", "max"),
    conv_case("sigmoid", "max", bias=False),
    conv_case("gelu", "max", padding=1, kernel=3),
    conv_case("softplus", "max", kernel=4),
    stacked_case("max"),
]
CASES = LSTM_CASES + AVERAGE_CASES + MAX_CASES
SMOOTH_CASES = LSTM_CASES + AVERAGE_CASES
