"""Boxes of tensors and the arithmetic that every bound is made of (paper Propositions 4 and 5).

Every operation returns a box that contains the image of every point of its operands, is exact when the operands are
points, never grows when an operand shrinks (inclusion isotony), and carries gradients. Ends are computed in the
precision of the tensors, rounded to nearest: a certificate is therefore decided in float64, with a stated slack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgbt.core.errors import BoundError
from sgbt.core.shapes import Float


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The box {x : lower <= x <= upper}, elementwise. Its ends are part of it; a point is the box with equal ends."""

    lower: Tensor
    upper: Tensor

    def __post_init__(self) -> None:
        lower, upper = self.lower, self.upper
        if lower.shape != upper.shape or lower.dtype != upper.dtype or not lower.is_floating_point():
            raise BoundError(
                expected="two real tensors of one shape and one precision",
                got=f"lower {_describe(lower)} and upper {_describe(upper)}",
                where="Interval",
            )
        if not bool((lower <= upper).all()):  # false for an empty box and for every NaN
            raise BoundError(
                expected="lower <= upper in every coordinate, and no NaN",
                got=_first_fault(lower, upper),
                where="Interval",
                remedy="build boxes with Interval.hull, Interval.point or Interval.symmetric, and check the weights",
            )

    # Building

    @staticmethod
    def point(value: Tensor) -> Interval:
        """The box that holds one point only."""
        return Interval(value, value)

    @staticmethod
    def symmetric(radius: Tensor) -> Interval:
        """The box {x : |x| <= radius}."""
        return Interval(-radius, radius)

    @staticmethod
    def hull(points: Tensor, *, dim: int = 0) -> Interval:
        """The smallest box around the points listed along `dim`."""
        if points.shape[dim] == 0:
            raise BoundError(expected="at least one point to enclose", got="none", where="Interval.hull")
        return Interval(*extremes(points, dim=dim))

    @staticmethod
    def cat(boxes: Sequence[Interval], *, dim: int = 0) -> Interval:
        """The boxes one after the other along an existing dimension."""
        return Interval(torch.cat([b.lower for b in boxes], dim), torch.cat([b.upper for b in boxes], dim))

    # Looking

    @property
    def shape(self) -> torch.Size:
        """The shape of the points of the box."""
        return self.lower.shape

    @property
    def midpoint(self) -> Tensor:
        """The centre, exact on points: halves are added, so that huge ends do not overflow."""
        return self.lower / 2 + self.upper / 2

    @property
    def radius(self) -> Tensor:
        """Half the width."""
        return self.upper / 2 - self.lower / 2

    @property
    def magnitude(self) -> Tensor:
        """The greatest |x| in the box."""
        return torch.maximum(-self.lower, self.upper)

    def contains(self, other: Tensor | Interval, *, slack: float = 0.0) -> bool:
        """Whether every point of `other` lies in this box, up to an absolute slack that is zero unless stated."""
        inner = other if isinstance(other, Interval) else Interval.point(other)
        return bool(((self.lower - slack <= inner.lower) & (inner.upper <= self.upper + slack)).all())

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lower[index], self.upper[index])

    def expand(self, *shape: int) -> Interval:
        """The same box repeated to a larger shape, by torch's rules of broadcasting."""
        try:
            return Interval(self.lower.expand(*shape), self.upper.expand(*shape))
        except RuntimeError as error:
            raise BoundError(expected=f"a box of shape {shape}", got=f"one of shape {tuple(self.shape)}") from error

    def to(self, like: Tensor) -> Interval:
        """The box in the precision and on the device of another tensor. Narrowing rounds the ends to nearest."""
        return Interval(self.lower.to(like), self.upper.to(like))

    # Joining

    def join(self, other: Interval) -> Interval:
        """The smallest box around both."""
        return Interval(torch.minimum(self.lower, other.lower), torch.maximum(self.upper, other.upper))

    def intersect(self, other: Interval) -> Interval:
        """The points in both boxes; two boxes that do not meet raise, because no box is empty."""
        return Interval(torch.maximum(self.lower, other.lower), torch.minimum(self.upper, other.upper))

    # Arithmetic

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __add__(self, other: Interval | Tensor | float) -> Interval:
        if isinstance(other, Interval):
            return Interval(self.lower + other.lower, self.upper + other.upper)
        return Interval(self.lower + other, self.upper + other)

    def __sub__(self, other: Interval | Tensor | float) -> Interval:
        return self + (-other)

    def __mul__(self, other: Interval | Tensor | float) -> Interval:
        """The range of the product, the two operands varying independently: bilinear, so extreme at corners."""
        if isinstance(other, Interval):
            mine = torch.stack((self.lower, self.upper))
            theirs = torch.stack((other.lower, other.upper))
            return Interval.hull((mine[:, None] * theirs[None]).flatten(0, 1))
        return Interval.hull(torch.stack((self.lower * other, self.upper * other)))

    __radd__, __rmul__ = __add__, __mul__

    def square(self) -> Interval:
        """The range of x squared: tighter than `x * x`, which would let the two factors differ."""
        return self.image(torch.square, turning_points=(0.0,))

    def sum(self, dim: int | tuple[int, ...]) -> Interval:
        """The range of the sum over one or more dimensions of independent coordinates."""
        return Interval(self.lower.sum(dim), self.upper.sum(dim))

    def monotone(self, function: Callable[[Tensor], Tensor]) -> Interval:
        """The image under an elementwise function that only rises or only falls."""
        return self.image(function, turning_points=())

    def image(self, function: Callable[[Tensor], Tensor], *, turning_points: Sequence[float]) -> Interval:
        """The exact range of an elementwise function that is monotone between its turning points.

        Such a function is extreme at an end of the box or at a turning point inside it. Clamping a turning point into
        the box leaves it alone when it is inside and yields an end when it is not, so one list of candidates serves
        every box, and gradients reach exactly the ends that decide. (Clamping both ways at once would do but for
        points: where the two limits are equal, `Tensor.clamp` drops the gradient.)
        """
        inside = [greater(self.upper.clamp(max=turn), self.lower) for turn in turning_points]
        return Interval.hull(function(torch.stack([self.lower, self.upper, *inside])))

    def affine(
        self, weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"] | None = None
    ) -> Interval:
        """The exact range of `weight @ x + bias` over the box, coordinate by coordinate (Propositions 4 and 5).

        A linear form a.x over a box is extreme where each x_r sits at the end that the sign of a_r selects, which is
        a.midpoint minus or plus |a|.radius. The box has shape (..., inputs), the weight (outputs, inputs).
        """
        centre = torch.nn.functional.linear(self.midpoint, weight, bias)
        spread = torch.nn.functional.linear(self.radius, weight.abs())
        return Interval(centre - spread, centre + spread)


def extremes(points: Tensor, *, dim: int) -> tuple[Tensor, Tensor]:
    """The least and the greatest along a dimension; where several tie, the gradient goes to one of them."""
    return points.min(dim).values, points.max(dim).values


def greater(left: Tensor, right: Tensor) -> Tensor:
    """The maximum of two tensors, a tie sending its gradient to the left: a cheaper backward than torch.maximum's."""
    return torch.where(left >= right, left, right)


def _describe(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {tensor.dtype}".replace("torch.", "")


def _first_fault(lower: Tensor, upper: Tensor) -> str:
    """Where a box is empty, for the error message."""
    faults = (~(lower <= upper)).nonzero()
    index = tuple(int(n) for n in faults[0])
    return f"lower {float(lower[index])} and upper {float(upper[index])} at {index}, with {len(faults)} such in all"
