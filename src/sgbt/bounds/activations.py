"""Exact ranges of activation functions and their derivatives over a box.

One table says everything: for each function and each order of derivative, how to evaluate it, where it turns, and its
limits at the two infinities. Between turning points it is monotone, so its range over a box is read off the ends and
the turning points inside (`Interval.image`). The table is data; the tests compare every line of it with autograd.

The formulas are written so that tails keep their relative precision, and so do the gradients that autograd derives from
them: sigma'(z) = sigma(z) sigma(-z), never s (1 - s), which is zero from z = 17 on in float32. Wide boxes live there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError
from sgbt.core.shapes import Float


@dataclass(frozen=True, slots=True)
class Derivative:
    """One derivative of an activation: its formula, every point where it turns, and its limits at -inf and +inf."""

    evaluate: Callable[[Tensor], Tensor]
    turning_points: tuple[float, ...]
    limits: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Activation:
    """An elementwise function with its derivatives of order 0, 1, 2, ...; `smooth` says it is twice differentiable."""

    name: str
    derivatives: tuple[Derivative, ...]
    smooth: bool = True

    def __call__(self, z: Float[Tensor, "*batch"], *, order: int = 0) -> Float[Tensor, "*batch"]:
        """The derivative of the given order at a point."""
        return self._derivative(order).evaluate(z)

    def range(self, z: Interval, *, order: int = 0) -> Interval:
        """The exact range of the derivative of the given order over a box."""
        derivative = self._derivative(order)
        return z.image(derivative.evaluate, turning_points=derivative.turning_points)

    def ranges(self, z: Interval, *, orders: int) -> Interval:
        """The exact ranges of the derivatives of order 0 up to `orders` - 1, along a new first dimension, in one pass.

        All are evaluated at the ends and at everyone's turning points: where another order turns is one more point of
        the box, and changes no range.
        """
        derivatives = [self._derivative(order) for order in range(orders)]
        turns = sorted({turn for derivative in derivatives for turn in derivative.turning_points})
        return z.image(
            lambda points: torch.stack([derivative.evaluate(points) for derivative in derivatives], dim=1),
            turning_points=turns,
        )

    def range_over_reals(self, *, order: int = 0) -> tuple[float, float]:
        """The least and greatest values over the whole line, limits included: what the paper writes as sup over R."""
        derivative = self._derivative(order)
        turning = torch.tensor(derivative.turning_points, dtype=torch.float64)
        values = [*derivative.evaluate(turning).tolist(), *derivative.limits]
        return min(values), max(values)

    def _derivative(self, order: int) -> Derivative:
        if not 0 <= order < len(self.derivatives):
            raise BoundError(
                expected=f"an order between 0 and {len(self.derivatives) - 1}", got=str(order), where=self.name
            )
        return self.derivatives[order]

    @staticmethod
    def named(name: str | Activation) -> Activation:
        """The activation of that name: tanh, sigmoid, gelu, softplus or relu. An activation stands for itself."""
        if isinstance(name, Activation):
            return name
        if name not in ACTIVATIONS:
            raise BoundError(expected=f"one of {', '.join(ACTIVATIONS)}", got=repr(name), where="activation")
        return ACTIVATIONS[name]


# Formulas


def softplus(z: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """log(1 + exp z), everywhere. torch's own turns into z beyond 20: off by up to 2e-9, and not monotone there."""
    return -torch.nn.functional.logsigmoid(-z)


def _sigmoid(z: Tensor) -> Tensor:
    """sigma, whose gradient by autograd is sigma(z) sigma(-z); torch.sigmoid's own is s (1 - s)."""
    return torch.nn.functional.logsigmoid(z).exp()


def _tanh(z: Tensor) -> Tensor:
    """tanh, odd to the last bit, with a gradient that does not vanish before the function is flat."""
    return _sigmoid(2 * z) - _sigmoid(-2 * z)


def _sigmoid_1(z: Tensor) -> Tensor:
    return torch.sigmoid(z) * torch.sigmoid(-z)


def _sigmoid_2(z: Tensor) -> Tensor:
    return -_sigmoid_1(z) * torch.tanh(z / 2)


def _sigmoid_3(z: Tensor) -> Tensor:
    slope = _sigmoid_1(z)
    return slope * (1 - 6 * slope)


def _tanh_1(z: Tensor) -> Tensor:
    return 4 * _sigmoid_1(2 * z)


def _tanh_2(z: Tensor) -> Tensor:
    return -2 * torch.tanh(z) * _tanh_1(z)


def _tanh_3(z: Tensor) -> Tensor:
    return _tanh_1(z) * (6 * torch.tanh(z).square() - 2)


def _normal_density(z: Tensor) -> Tensor:
    return torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)


def _within_density(z: Tensor) -> Tensor:
    """z where the normal density is not zero in float64; beyond +-40 it is, and its products with powers of z too."""
    return z.clamp(-40, 40)


def _gelu_1(z: Tensor) -> Tensor:
    z = _within_density(z)
    below: Tensor = torch.special.ndtr(z)
    return below + z * _normal_density(z)


def _gelu_2(z: Tensor) -> Tensor:
    z = _within_density(z)
    return _normal_density(z) * (2 - z.square())


def _gelu_3(z: Tensor) -> Tensor:
    z = _within_density(z)
    return _normal_density(z) * z * (z.square() - 4)


def _step(z: Tensor) -> Tensor:
    """The derivative of ReLU, 0 at the kink as torch has it. No gradient: it is constant wherever it has one."""
    return (z > 0).to(z.dtype)


# The table of extrema

_SIGMOID_2_TURNS = math.log(2 + math.sqrt(3))  # sigma''' = 0 where sigma' = 1/6
_SIGMOID_3_TURNS = math.log(5 + 2 * math.sqrt(6))  # sigma'''' = 0 where sigma' = 1/12
_GELU_TURNS = -0.7517915246935645  # Phi(z) + z phi(z) = 0: no closed form
_GELU_3_TURNS = (math.sqrt((7 - math.sqrt(33)) / 2), math.sqrt((7 + math.sqrt(33)) / 2))  # z^4 - 7 z^2 + 4 = 0

SIGMOID = Activation(
    "sigmoid",
    (
        Derivative(_sigmoid, (), (0.0, 1.0)),
        Derivative(_sigmoid_1, (0.0,), (0.0, 0.0)),
        Derivative(_sigmoid_2, (-_SIGMOID_2_TURNS, _SIGMOID_2_TURNS), (0.0, 0.0)),
        Derivative(_sigmoid_3, (-_SIGMOID_3_TURNS, 0.0, _SIGMOID_3_TURNS), (0.0, 0.0)),
    ),
)
TANH = Activation(  # tanh(z) = 2 sigma(2 z) - 1, so it turns at half the places
    "tanh",
    (
        Derivative(_tanh, (), (-1.0, 1.0)),
        Derivative(_tanh_1, (0.0,), (0.0, 0.0)),
        Derivative(_tanh_2, (-_SIGMOID_2_TURNS / 2, _SIGMOID_2_TURNS / 2), (0.0, 0.0)),
        Derivative(_tanh_3, (-_SIGMOID_3_TURNS / 2, 0.0, _SIGMOID_3_TURNS / 2), (0.0, 0.0)),
    ),
)
GELU = Activation(  # the exact one, z Phi(z)
    "gelu",
    (
        Derivative(torch.nn.functional.gelu, (_GELU_TURNS,), (0.0, math.inf)),
        Derivative(_gelu_1, (-math.sqrt(2), math.sqrt(2)), (0.0, 1.0)),
        Derivative(_gelu_2, (-2.0, 0.0, 2.0), (0.0, 0.0)),
        Derivative(_gelu_3, (-_GELU_3_TURNS[1], -_GELU_3_TURNS[0], *_GELU_3_TURNS), (0.0, 0.0)),
    ),
)
SOFTPLUS = Activation(  # its derivative is sigma
    "softplus",
    (
        Derivative(softplus, (), (0.0, math.inf)),
        Derivative(_sigmoid, (), (0.0, 1.0)),
        Derivative(_sigmoid_1, (0.0,), (0.0, 0.0)),
        Derivative(_sigmoid_2, (-_SIGMOID_2_TURNS, _SIGMOID_2_TURNS), (0.0, 0.0)),
    ),
)
RELU = Activation(  # zero curvature everywhere but at its kink, where it has none
    "relu",
    (
        Derivative(torch.relu, (), (0.0, math.inf)),
        Derivative(_step, (), (0.0, 1.0)),
        Derivative(torch.zeros_like, (), (0.0, 0.0)),
    ),
    smooth=False,
)
ACTIVATIONS = {activation.name: activation for activation in (SIGMOID, TANH, GELU, SOFTPLUS, RELU)}
