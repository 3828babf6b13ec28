"""Bounds of a convolution layer with its activation and pooling (paper Proposition 3, corrected)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import TANH, Activation
from sgbt.bounds.dense import require_displacement
from sgbt.bounds.domains import Domain, is_proven, settle
from sgbt.bounds.interval import Interval
from sgbt.bounds.pooled import (
    KINK_OBSTACLE,
    AveragePooledCurvature,
    AveragePooledGrowth,
    MaxPooledCurvature,
    MaxPooledGrowth,
)
from sgbt.bounds.windows import Windows
from sgbt.errors import BoundError, SgbtWarning

Pooling = Literal["max", "average"]


@dataclass(frozen=True, eq=False)
class ConvBounds:
    """Both bounds of text -> pooled features, the text of `length` words being flattened word by word."""

    growth: MaxPooledGrowth | AveragePooledGrowth
    curvature: MaxPooledCurvature | AveragePooledCurvature
    activation: Activation
    bias: Tensor | None
    domain: Interval | None

    @staticmethod
    def of(
        conv: nn.Conv1d,
        *,
        length: int,
        activation: Activation | str = TANH,
        pooling: Pooling = "max",
        inputs: Domain | None = None,
    ) -> ConvBounds:
        """Bound a convolution over texts of `length` words, followed by an activation and a pooling over all windows.

        `inputs` is the box of every word, shape (d0,), or of each word in turn, shape (length, d0); phi' and phi'' are
        then bounded over the exact range of each window's pre-activation. Without it they are bounded over all reals,
        as in the paper; the bound then holds for every text, and does not depend on the bias.

        Both totals have gradients to the weights. The bias has one exactly where the bound depends on it: with `inputs`
        given, where the extreme value of phi' or phi'' over some filter's range sits at an end of that range. Over a
        range that holds the peak of phi' (0, for tanh) the supremum is that peak whatever the bias, so a bound has no
        gradient to give; boxes around single texts (`substitution_box`) are narrow enough to give one.
        """
        activation = Activation.named(activation)
        windows = Windows(length, conv.kernel_size[0], _padding(conv))
        box = None if inputs is None else _word_box(inputs, conv, length)
        ranges = [_derivative_range(conv, windows, activation, box, order=order) for order in (1, 2)]
        proven = inputs is None or is_proven(inputs)
        if not activation.smooth:
            warnings.warn(
                f"{activation.name} has a kink: its curvature bound is zero, holds away from the kink only, and "
                "cannot be used in a Taylor expansion; the growth bound is sound",
                SgbtWarning,
                stacklevel=2,
            )
        growth_type, curvature_type = _pooled_types(pooling)
        return ConvBounds(
            growth=growth_type(conv.weight, windows, ranges[0], proven),
            curvature=curvature_type(conv.weight, windows, ranges[1], proven, activation.smooth),
            activation=activation,
            bias=conv.bias,
            domain=None if box is None else box.expand(length, -1),
        )

    def enclose(self, text: Tensor, displacement: Interval) -> Interval:
        """Enclose the pooled features of text + d for every d in the box, by a second-order expansion of each window.

        A single window is smooth, so phi(z + dz) lies within sup |phi''| dz^2 / 2 of phi(z) + phi'(z) dz; the
        maximum (or average) of the windows' upper ends bounds the pooled feature, whichever window wins, and so do the
        lower ends from below. `text` has shape (..., length d0), like the box; both together must stay in `inputs`.
        """
        curvature, where = self.curvature, "ConvBounds.enclose"
        if not curvature.smooth:
            raise BoundError(wanted="a twice differentiable activation", got=KINK_OBSTACLE, where=where)
        curvature.require_proven(where=where)
        for tensor in (text, displacement.lower):
            require_displacement(tensor, curvature.shape[1], where=where)
        self._require_inside(displacement + text)
        weights, windows = curvature.weights, curvature.windows
        z = windows.convolve(text, weights, self.bias)
        moved = windows.convolve_box(displacement, weights)
        bend = curvature.derivative.magnitude * moved.magnitude.square() / 2
        tangent = moved * self.activation(z, order=1) + self.activation(z)
        lower, upper = tangent.lower - bend, tangent.upper + bend
        if isinstance(curvature, MaxPooledCurvature):
            return Interval(lower.amax(-1), upper.amax(-1))
        return Interval(lower.mean(-1), upper.mean(-1))

    def _require_inside(self, texts: Interval) -> None:
        if self.domain is None:
            return
        domain = Interval(self.domain.lower.flatten(), self.domain.upper.flatten())
        rounding = 4 * torch.finfo(domain.lower.dtype).eps * float(domain.magnitude.amax())
        if not domain.contains(texts, slack=rounding):
            raise BoundError(
                wanted="a text that stays in the domain of the bound under every displacement",
                got="one that leaves it",
                where="ConvBounds.enclose",
                remedy="build the bound with a larger box of inputs",
            )


def _pooled_types(
    pooling: Pooling,
) -> tuple[type[MaxPooledGrowth] | type[AveragePooledGrowth], type[MaxPooledCurvature] | type[AveragePooledCurvature]]:
    if pooling == "max":
        return MaxPooledGrowth, MaxPooledCurvature
    if pooling == "average":
        return AveragePooledGrowth, AveragePooledCurvature
    raise BoundError(wanted="pooling 'max' or 'average'", got=repr(pooling), where="ConvBounds.of")


def _padding(conv: nn.Conv1d) -> int:
    """The zeros on either side, for the kind of convolution that is bounded: stride 1, dilation 1, one group."""
    asked = {"stride": conv.stride[0], "dilation": conv.dilation[0], "groups": conv.groups}
    for name, value in asked.items():
        if value != 1:
            raise BoundError(wanted=f"a convolution with {name}=1", got=f"{name}={value}", where="ConvBounds.of")
    if conv.padding == "valid":
        return 0
    if conv.padding == "same":
        if conv.kernel_size[0] % 2 == 0:
            raise BoundError(wanted="equal padding on either side", got="padding='same' with an even kernel")
        return conv.kernel_size[0] // 2
    padding = int(conv.padding[0])
    if padding and conv.padding_mode != "zeros":
        raise BoundError(wanted="padding by zeros", got=f"padding_mode={conv.padding_mode!r}", where="ConvBounds.of")
    return padding


def _word_box(inputs: Domain, conv: nn.Conv1d, length: int) -> Interval:
    """One box for every word, shape (d0,), or one per word, shape (length, d0)."""
    box = inputs if isinstance(inputs, Interval) else inputs.seen
    shape = (conv.in_channels,) if box.lower.ndim < 2 else (length, conv.in_channels)
    return settle(inputs, shape, like=conv.weight, where="inputs")


def _derivative_range(
    conv: nn.Conv1d, windows: Windows, activation: Activation, box: Interval | None, *, order: int
) -> Interval:
    """The range of phi' or phi'' over each window's pre-activation: (d, windows), or (d, 1) when all are alike."""
    filters = conv.weight.shape[0]
    if box is None:
        least, greatest = activation.range_over_reals(order=order)
        return Interval(conv.weight.new_full((filters, 1), least), conv.weight.new_full((filters, 1), greatest))
    if box.lower.ndim == 1 and windows.padding == 0:  # every window reads the same box through every tap
        centre = conv.weight.sum(2) @ box.midpoint + (0 if conv.bias is None else conv.bias)
        spread = conv.weight.abs().sum(2) @ box.radius
        z = Interval(centre - spread, centre + spread)[:, None]
    else:
        texts = box.expand(windows.length, -1)
        flat = Interval(texts.lower.flatten(), texts.upper.flatten())
        z = windows.convolve_box(flat, conv.weight, conv.bias)
    return activation.range(z, order=order)
