"""Bounds of a convolution layer with its activation and pooling (paper Proposition 3, corrected)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import TANH, Activation
from sgbt.bounds.domains import Domain, is_proven, settle
from sgbt.bounds.growth import require_displacement
from sgbt.bounds.interval import Interval
from sgbt.bounds.pooled import (
    KINK_OBSTACLE,
    AveragePooledCurvature,
    AveragePooledGrowth,
    MaxPooledCurvature,
    MaxPooledGrowth,
)
from sgbt.bounds.windows import Filters, WindowRanges, Windows, flat_texts, padding_of
from sgbt.core.errors import BoundError, SgbtWarning
from sgbt.core.shapes import Float

Pooling = Literal["max", "average"]


@dataclass(frozen=True, eq=False)
class ConvBounds:
    """Both bounds of text -> pooled features, the text of `length` words being flattened word by word."""

    growth: MaxPooledGrowth | AveragePooledGrowth
    curvature: MaxPooledCurvature | AveragePooledCurvature
    activation: Activation
    ranges: WindowRanges

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
        then bounded over the exact range of each window's pre-activation, and a window that cannot be the greatest
        anywhere in the box does not count for max pooling. Without it they are bounded over all reals, as in the
        paper; the bound then holds for every text, and does not depend on the bias.

        All windows of `length` words are taken to be pooled. For a model that masks the windows of padding, build the
        bound with the length of the text itself; for one that pools them, let the box hold the padding vector too.

        Both totals have gradients to the weights. The bias has one exactly where the bound depends on it: with `inputs`
        given, where the extreme value of phi' or phi'' over some filter's range sits at an end of that range. Over a
        range that holds the peak of phi' (0, for tanh) the supremum is that peak whatever the bias, so a bound has no
        gradient to give; boxes around single texts (`substitution_box`) are narrow enough to give one.
        """
        activation = Activation.named(activation)
        windows, filters = Windows(length, conv.kernel_size[0], padding_of(conv)), Filters.of(conv)
        if inputs is None:
            ranges = WindowRanges.over_reals(filters, activation)
        else:
            ranges = WindowRanges.over_box(filters, activation, windows, _word_box(inputs, conv, length))
        if not activation.smooth:
            warnings.warn(
                f"{activation.name} has a kink: its curvature bound is zero, holds away from the kink only, and "
                "cannot be used in a Taylor expansion; the growth bound is sound",
                SgbtWarning,
                stacklevel=2,
            )
        proven = inputs is None or is_proven(inputs)
        if pooling == "max":
            slopes, bends = ranges.of_winners(ranges.slopes), ranges.of_winners(ranges.bends)
            return ConvBounds(
                MaxPooledGrowth(filters, windows, slopes, proven),
                MaxPooledCurvature(filters, windows, bends, proven, activation.smooth),
                activation,
                ranges,
            )
        if pooling == "average":
            return ConvBounds(
                AveragePooledGrowth(filters, windows, ranges.slopes, proven),
                AveragePooledCurvature(filters, windows, ranges.bends, proven, activation.smooth),
                activation,
                ranges,
            )
        raise BoundError(expected="pooling 'max' or 'average'", got=repr(pooling), where="ConvBounds.of")

    def enclose(self, text: Float[Tensor, "*batch inputs"], displacement: Interval) -> Interval:
        """Enclose the pooled features of text + d for every d in the box, by a second-order expansion of each window.

        A single window is smooth, so phi(z + dz) lies within sup |phi''| dz^2 / 2 of phi(z) + phi'(z) dz; the
        maximum (or average) of the windows' upper ends bounds the pooled feature, whichever window wins, and so do the
        lower ends from below. `text` has shape (..., length d0), like the box; both together must stay in `inputs`.
        """
        curvature, where = self.curvature, "ConvBounds.enclose"
        if not curvature.smooth:
            raise BoundError(expected="a twice differentiable activation", got=KINK_OBSTACLE, where=where)
        curvature.require_proven(where=where)
        for tensor in (text, displacement.lower):
            require_displacement(tensor, curvature.shape[1], where=where)
        self._require_inside(displacement + text)
        filters, windows = curvature.filters, curvature.windows
        z = windows.convolve(text, filters.weights, filters.bias)
        moved = windows.convolve_box(displacement, filters.weights)
        bend = self.ranges.bends.magnitude * moved.magnitude.square() / 2
        tangent = moved * self.activation(z, order=1) + self.activation(z)
        lower, upper = tangent.lower - bend, tangent.upper + bend
        if isinstance(curvature, MaxPooledCurvature):
            return Interval(lower.amax(-1), upper.amax(-1))
        return Interval(lower.mean(-1), upper.mean(-1))

    def _require_inside(self, texts: Interval) -> None:
        if self.ranges.words is None:
            return
        domain = flat_texts(self.ranges.words, self.curvature.windows)
        rounding = 4 * torch.finfo(domain.lower.dtype).eps * float(domain.magnitude.amax())
        if not domain.contains(texts, slack=rounding):
            raise BoundError(
                expected="a text that stays in the domain of the bound under every displacement",
                got="one that leaves it",
                where="ConvBounds.enclose",
                remedy="build the bound with a larger box of inputs",
            )


def _word_box(inputs: Domain, conv: nn.Conv1d, length: int) -> Interval:
    """One box for every word, shape (d0,), or one per word, shape (length, d0)."""
    box = inputs if isinstance(inputs, Interval) else inputs.seen
    shape = (conv.in_channels,) if box.lower.ndim < 2 else (length, conv.in_channels)
    return settle(inputs, shape, like=conv.weight, where="inputs")
