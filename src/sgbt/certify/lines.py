"""Straight lines below and above an activation on an interval: what a linear bound replaces it by.

For any slope a, phi(z) - a z has exact extremes on [l, u]: they are at an end, or where phi'(z) = a. So a line of any
slope can be shifted until it touches: slope z + least <= phi(z) <= slope z + greatest. Tiers differ only in how they
choose the slope, and in whether they take these exact offsets ("taylor", "crown") or bound them by curvature ("core").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds import ACTIVATIONS, Activation, Interval
from sgbt.models.cnn import ACTIVATIONS as FUNCTIONS

TIE = 1e-9
"""A choice that is better by less than this is a tie, and the first counts: rounding never decides, so neither do the
texts beside it in a batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Arguments between `lower` and `upper`, with the value `clean` that the text itself has."""

    lower: Tensor
    upper: Tensor
    clean: Tensor

    @staticmethod
    def around(clean: Tensor, lower: Tensor, upper: Tensor) -> Box:
        """The box, widened by what rounding may have lost so that it contains the clean value."""
        return Box(torch.minimum(lower, clean), torch.maximum(upper, clean), clean)

    def at(self, row: int) -> Box:
        """One row of it."""
        return Box(self.lower[row], self.upper[row], self.clean[row])

    def gathered(self, row: Tensor) -> Box:
        """One row for each text and column, [texts, columns], of boxes [texts, rows, columns]."""
        index = row.unsqueeze(1)
        return Box(*(end.gather(1, index).squeeze(1) for end in (self.lower, self.upper, self.clean)))

    def shrunk(self, share: float) -> Box:
        """The box drawn towards the clean value."""
        if share == 1.0:
            return self
        clean = self.clean
        return Box(clean + share * (self.lower - clean), clean + share * (self.upper - clean), clean)

    @property
    def interval(self) -> Interval:
        """The box as a checked value."""
        return Interval(self.lower, self.upper)

    @property
    def reach(self) -> Tensor:
        """The greatest distance from the clean value."""
        return torch.maximum(self.clean - self.lower, self.upper - self.clean)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The function z -> slope z + offset."""

    slope: Tensor
    offset: Tensor

    def at(self, z: Tensor) -> Tensor:
        """Its value."""
        return self.slope * z + self.offset


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """A line below an activation and one above it, on a box."""

    below: Line
    above: Line


Relaxation = Callable[[Activation, Box], Lines]


def offsets(phi: Activation, slope: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """The exact least and greatest value of phi(z) - slope z over [lower, upper]."""
    function = FUNCTIONS[phi.name].function
    ends = [function(end) - slope * end for end in (lower, upper)]
    least, greatest = torch.minimum(*ends), torch.maximum(*ends)
    for turn, value in _STATIONARY[phi.name](slope):
        inside = (lower < turn) & (turn < upper)
        reached = value - slope * turn
        least = torch.where(inside & (reached < least), reached, least)
        greatest = torch.where(inside & (reached > greatest), reached, greatest)
    return least, greatest


def slope_range(phi: Activation, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """The exact range of phi' over [lower, upper]. Of tanh: 1 - tanh^2, even and falling away from its peak 1 at 0."""
    if phi.name != "tanh":
        slopes = phi.range(Interval(lower, upper), order=1)
        return slopes.lower, slopes.upper
    ends = [1 - end.tanh().square_() for end in (lower, upper)]
    peak = (lower <= 0) & (upper >= 0)
    return torch.minimum(*ends), torch.maximum(*ends).masked_fill_(peak, 1.0)


def tangent_lines(phi: Activation, box: Box) -> Lines:
    """Lines of the slope that phi has at the clean value, shifted by the exact one-dimensional Taylor remainder.

    This is S-GBT in its tight form: phi(z + d) = phi(z) + phi'(z) d + r(d), and r takes its exact range over the box.
    """
    slope = phi(box.clean, order=1)
    least, greatest = offsets(phi, slope, box.lower, box.upper)
    return Lines(Line(slope, least), Line(slope, greatest))


def curvature_lines(phi: Activation, box: Box) -> Lines:
    """Lines of the slope at the clean value, shifted by sup |phi''| reach^2 / 2: S-GBT in the paper's form.

    Lagrange's remainder of Proposition 1, with the curvature bounded over the box instead of over all reals. It needs a
    second derivative, so it is refused for ReLU.
    """
    slope = phi(box.clean, order=1)
    spread = phi.range(box.interval, order=2).magnitude * box.reach.square() / 2
    centre = phi(box.clean) - slope * box.clean
    return Lines(Line(slope, centre - spread), Line(slope, centre + spread))


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """The slopes of a line below an activation and of one above it."""

    below: Tensor
    above: Tensor

    def on(self, phi: Activation, box: Box) -> Lines:
        """The lines of these slopes that touch phi on a box."""
        least, greatest = offsets(phi, self.below, box.lower, box.upper)
        if self.above is not self.below:
            greatest = offsets(phi, self.above, box.lower, box.upper)[1]
        return Lines(Line(self.below, least), Line(self.above, greatest))


def fitted_slopes(phi: Activation, box: Box) -> Slopes:
    """The slopes of lines fitted to a box (CROWN, Zhang et al. 2018): of a few, those closest in the middle.

    Candidates are the chord and the tangents at the middle and at both ends.
    """
    function = FUNCTIONS[phi.name].function
    middle, width = (box.lower + box.upper) / 2, box.upper - box.lower
    narrow = width <= 1e-6
    chord = (function(box.upper) - function(box.lower)) / torch.where(narrow, torch.ones_like(width), width)
    tangents = [phi(point, order=1) for point in (middle, box.lower, box.upper)]
    best: Slopes | None = None
    for slope in (torch.where(narrow, tangents[0], chord), *tangents):
        least, greatest = offsets(phi, slope, box.lower, box.upper)
        low, high = slope * middle + least, slope * middle + greatest
        if best is None:
            best, lowest, highest = Slopes(slope, slope), low, high
            continue
        below, above = low > lowest + TIE, high < highest - TIE
        best = Slopes(torch.where(below, slope, best.below), torch.where(above, slope, best.above))
        lowest, highest = torch.where(below, low, lowest), torch.where(above, high, highest)
    assert best is not None
    return best


# Where phi'(z) = slope, and phi there. A point that rounding moves a little changes phi(z) - slope z to second order
# only, because it is stationary there; where phi' never takes the slope, a point at infinity or any other that phi has.

Points = tuple[tuple[Tensor, Tensor], ...]


def _tanh_turns(slope: Tensor) -> Points:
    """1 - tanh(z)^2 = slope."""
    value = (1 - slope).clamp(0, 1).sqrt()
    turn = value.atanh()
    return (turn, value), (-turn, -value)


def _sigmoid_turns(slope: Tensor) -> Points:
    """sigma (1 - sigma) = slope, so sigma = (1 +- sqrt(1 - 4 slope)) / 2."""
    root = (1 - 4 * slope).clamp(0, 1).sqrt()
    turn = 2 * root.atanh()
    return (turn, (1 + root) / 2), (-turn, (1 - root) / 2)


def _softplus_turns(slope: Tensor) -> Points:
    """sigma = slope."""
    turn = slope.clamp(0, 1).logit()
    return ((turn, FUNCTIONS["softplus"].function(turn)),)


def _relu_turns(slope: Tensor) -> Points:
    """The kink."""
    kink = torch.zeros_like(slope)
    return ((kink, kink),)


def _gelu_turns(slope: Tensor) -> Points:
    """gelu' falls to -sqrt 2, rises to sqrt 2 and falls again: one bisection on each stretch. Beyond 9 it is flat."""
    turn, far = math.sqrt(2), 9.0
    points = (
        _bisected(ACTIVATIONS["gelu"], slope, start, stop)
        for start, stop in ((-turn, -far), (-turn, turn), (far, turn))
    )
    return tuple((point, FUNCTIONS["gelu"].function(point)) for point in points)


def _bisected(phi: Activation, slope: Tensor, rising_from: float, rising_to: float) -> Tensor:
    """The point between the ends, in whose direction phi' rises, where phi' = slope; an end where there is none."""
    small, large = torch.full_like(slope, rising_from), torch.full_like(slope, rising_to)
    for _ in range(55):
        middle = (small + large) / 2
        below = phi(middle, order=1) < slope
        small, large = torch.where(below, middle, small), torch.where(below, large, middle)
    return (small + large) / 2


_STATIONARY: dict[str, Callable[[Tensor], Points]] = {
    "tanh": _tanh_turns,
    "sigmoid": _sigmoid_turns,
    "softplus": _softplus_turns,
    "relu": _relu_turns,
    "gelu": _gelu_turns,
}
