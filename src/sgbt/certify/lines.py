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
from sgbt.models.activations import ACTIVATIONS as FUNCTIONS

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
    points = [lower, upper]
    points += [torch.maximum(torch.minimum(turn, upper), lower) for turn in _STATIONARY[phi.name](slope)]
    function = FUNCTIONS[phi.name].function
    least = greatest = function(lower) - slope * lower
    for point in points[1:]:
        value = function(point) - slope * point
        least, greatest = torch.minimum(least, value), torch.maximum(greatest, value)
    return least, greatest


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


def planes(phi: Activation, box: Box) -> Lines:
    """Lines fitted to the box (CROWN, Zhang et al. 2018): of some candidate slopes, the one closest in the middle.

    Candidates are the chord, the tangents at the middle and at both ends, and the tangent at the clean value.
    """
    middle, width = (box.lower + box.upper) / 2, box.upper - box.lower
    narrow = width <= 1e-6
    chord = (phi(box.upper) - phi(box.lower)) / torch.where(narrow, torch.ones_like(width), width)
    tangents = [phi(point, order=1) for point in (middle, box.lower, box.upper, box.clean)]
    best: Lines | None = None
    for slope in (torch.where(narrow, tangents[-1], chord), *tangents):
        least, greatest = offsets(phi, slope, box.lower, box.upper)
        below, above = Line(slope, least), Line(slope, greatest)
        if best is not None:
            below = _chosen(below.at(middle) > best.below.at(middle) + TIE, below, best.below)
            above = _chosen(above.at(middle) < best.above.at(middle) - TIE, above, best.above)
        best = Lines(below, above)
    assert best is not None
    return best


def _chosen(better: Tensor, new: Line, old: Line) -> Line:
    return Line(torch.where(better, new.slope, old.slope), torch.where(better, new.offset, old.offset))


# Where phi'(z) = slope. A point that rounding moves a little changes phi(z) - slope z to second order only, because
# it is stationary there; a slope that phi' never takes yields any point, which is harmless among the candidates.


def _tanh_turns(slope: Tensor) -> tuple[Tensor, ...]:
    """1 - tanh(z)^2 = slope."""
    turn = (1 - slope).clamp(0, 1).sqrt().atanh()
    return turn, -turn


def _sigmoid_turns(slope: Tensor) -> tuple[Tensor, ...]:
    """sigma (1 - sigma) = slope, so sigma = (1 +- sqrt(1 - 4 slope)) / 2."""
    turn = 2 * (1 - 4 * slope).clamp(0, 1).sqrt().atanh()
    return turn, -turn


def _softplus_turns(slope: Tensor) -> tuple[Tensor, ...]:
    """sigma = slope."""
    return (slope.clamp(0, 1).logit(),)


def _relu_turns(slope: Tensor) -> tuple[Tensor, ...]:
    """The kink."""
    return (torch.zeros_like(slope),)


def _gelu_turns(slope: Tensor) -> tuple[Tensor, ...]:
    """gelu' falls to -sqrt 2, rises to sqrt 2 and falls again: one bisection on each stretch. Beyond 9 it is flat."""
    turn, far = math.sqrt(2), 9.0
    return tuple(
        _bisected(ACTIVATIONS["gelu"], slope, start, stop)
        for start, stop in ((-turn, -far), (-turn, turn), (far, turn))
    )


def _bisected(phi: Activation, slope: Tensor, rising_from: float, rising_to: float) -> Tensor:
    """The point between the ends, in whose direction phi' rises, where phi' = slope; an end where there is none."""
    small, large = torch.full_like(slope, rising_from), torch.full_like(slope, rising_to)
    for _ in range(55):
        middle = (small + large) / 2
        below = phi(middle, order=1) < slope
        small, large = torch.where(below, middle, small), torch.where(below, large, middle)
    return (small + large) / 2


_STATIONARY: dict[str, Callable[[Tensor], tuple[Tensor, ...]]] = {
    "tanh": _tanh_turns,
    "sigmoid": _sigmoid_turns,
    "softplus": _softplus_turns,
    "relu": _relu_turns,
    "gelu": _gelu_turns,
}
