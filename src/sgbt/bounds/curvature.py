"""The second-order bound: a Smooth Growth Bound Tensor (paper Definition 2) as a structured operator.

Then, from derivative bounds to bounds on the output: the paper's Proposition 1, and the form that is really tighter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds.growth import (
    GrowthBound,
    locate,
    require_affordable,
    require_displacement,
    require_index,
    require_same_inputs,
    unproven,
)
from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError
from sgbt.core.shapes import Float


class CurvatureBound(ABC):
    """A tensor T with |d2 F_i / d x_j d x_k| <= T_ijk wherever F has that derivative in the domain (Definition 2).

    As with `GrowthBound`, a *tight* tensor that keeps signs and a *factorised* one that is never smaller live in one
    operator: `dense` and `entry` give the tight one unless asked otherwise; `total`, `apply` and `remainder` are closed
    forms of the factorised one. Nothing but `dense` ever builds a tensor of outputs x inputs x inputs.

    `proven` is false when the domain was only observed on data; `taylor_obstacle` says why a Taylor expansion around
    one point would be wrong although every entry is right, and is None where the expansion holds.
    """

    proven: bool

    @property
    def taylor_obstacle(self) -> str | None:
        """What breaks a second-order expansion, or None."""
        return None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """How many outputs and, twice, how many inputs the bounded map has."""

    @abstractmethod
    def total(self) -> Float[Tensor, ""]:
        """The sum of the factorised entries: the paper's L_SGBT, raw, with gradients to the layer's parameters.

        It grows with the square of the layer (hundreds of thousands at initialisation); the training objective
        normalises it.
        """

    @abstractmethod
    def _dense(self, *, factorised: bool) -> Tensor: ...

    @abstractmethod
    def _entry(self, i: int, j: int, k: int) -> Tensor: ...

    @abstractmethod
    def _remainder(self, displacement: Interval) -> Tensor: ...

    @abstractmethod
    def _like(self) -> Tensor:
        """A tensor of the operator's precision and device."""

    def dense(self, *, factorised: bool = False) -> Float[Tensor, "outputs inputs inputs"]:
        """The tensor T of shape (outputs, inputs, inputs), if it is small enough to write out."""
        require_affordable(self.shape, self._like(), where="CurvatureBound.dense")
        return self._dense(factorised=factorised)

    def entry(self, i: int, j: int, k: int) -> Float[Tensor, ""]:
        """The tight entry T_ijk alone."""
        outputs, inputs, _ = self.shape
        return self._entry(
            require_index(i, outputs, where="CurvatureBound.entry, i"),
            require_index(j, inputs, where="CurvatureBound.entry, j"),
            require_index(k, inputs, where="CurvatureBound.entry, k"),
        )

    def apply(self, delta: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        """Half of sum_jk T_ijk |delta_j| |delta_k| for each row of a batch (..., inputs): Proposition 1's last term."""
        self.require_proven(where="CurvatureBound.apply")
        require_displacement(delta, self.shape[1], where="CurvatureBound.apply")
        return self._remainder(Interval.symmetric(delta.abs()))

    def remainder(self, displacement: Interval) -> Float[Tensor, "*batch outputs"]:
        """The most that F can differ from its tangent after any displacement in the box (..., inputs).

        Taylor with Lagrange's remainder: |F_i(x + d) - F_i(x) - grad F_i(x).d| <= remainder_i, if the whole segment
        from x to x + d is in the domain. A box that is not symmetric around 0 gives less than `apply`.
        """
        self.require_expandable(where="CurvatureBound.remainder")
        require_displacement(displacement.lower, self.shape[1], where="CurvatureBound.remainder")
        return self._remainder(displacement)

    def require_proven(self, *, where: str) -> None:
        """Refuse to take part in a proof when the domain was only observed."""
        if not self.proven:
            raise unproven(where)

    def require_expandable(self, *, where: str) -> None:
        """Refuse to be the remainder of a Taylor expansion where that would be unsound."""
        self.require_proven(where=where)
        if self.taylor_obstacle is not None:
            raise BoundError(
                expected="the curvature of a map that is twice differentiable on the whole domain",
                got=self.taylor_obstacle,
                where=where,
                remedy="bound each window and take the maximum (ConvBounds.enclose), use average pooling and a smooth "
                "activation, or use the growth bound",
            )


@dataclass(frozen=True, eq=False)
class StackedCurvature(CurvatureBound):
    """The curvature bound of several maps of one input whose outputs are concatenated (the paper's direct sum)."""

    parts: Sequence[CurvatureBound]

    def __post_init__(self) -> None:
        require_same_inputs([part.shape[-1] for part in self.parts], where="StackedCurvature")

    @property
    def proven(self) -> bool:  # type: ignore[override]
        """Whether every part is proven."""
        return all(part.proven for part in self.parts)

    @property
    def taylor_obstacle(self) -> str | None:
        """The first part's obstacle, if any part has one."""
        return next((part.taylor_obstacle for part in self.parts if part.taylor_obstacle is not None), None)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Outputs of all parts, and the inputs they share."""
        inputs = self.parts[0].shape[1]
        return sum(part.shape[0] for part in self.parts), inputs, inputs

    def total(self) -> Tensor:
        """The sum of the parts' totals."""
        return torch.stack([part.total() for part in self.parts]).sum()

    def _dense(self, *, factorised: bool) -> Tensor:
        return torch.cat([part.dense(factorised=factorised) for part in self.parts])

    def _entry(self, i: int, j: int, k: int) -> Tensor:
        part, row = locate([part.shape[0] for part in self.parts], i)
        return self.parts[part].entry(row, j, k)

    def _remainder(self, displacement: Interval) -> Tensor:
        return torch.cat([part._remainder(displacement) for part in self.parts], dim=-1)

    def _like(self) -> Tensor:
        return self.parts[0]._like()


def proposition_one(
    output: Float[Tensor, "*batch outputs"],
    growth: GrowthBound,
    curvature: CurvatureBound,
    delta: Float[Tensor, "*batch inputs"],
) -> Interval:
    """The paper's Proposition 1: F(x + d) lies within M |delta| + |delta|' T |delta| / 2 of F(x) if |d| <= |delta|.

    True, and never better than M |delta| alone: M bounds the gradient on the whole domain, so the mean value theorem
    gives |F(x + d) - F(x)| <= M |delta| without any second-order term. The proposition is here because it is the
    paper's; `growth.apply` is tighter always, and `local_second_order` where displacements are small.

    `output` is F(x), shape (..., outputs); x and x + d must lie in the domain of both bounds. A growth bound of
    max-pooled windows is enough for its soundness, so a curvature without Taylor expansion is accepted.
    """
    if growth.shape != curvature.shape[:2]:
        raise BoundError(
            expected=f"two bounds of one map, here with (outputs, inputs) = {growth.shape}",
            got=f"a curvature bound with {curvature.shape[:2]}",
            where="proposition_one",
        )
    reach = growth.apply(delta) + curvature.apply(delta)
    return Interval(output - reach, output + reach)


def local_second_order(
    gradient: Float[Tensor, "*batch outputs inputs"], curvature: CurvatureBound, delta: Tensor | Interval
) -> Interval:
    """Enclose F(x + d) - F(x) by the gradient *at x* and the curvature on the domain, for d = delta or d in a box.

    Taylor with Lagrange's remainder: grad F(x).d plus or minus the remainder. The first-order term is exact and keeps
    its sign, where M |delta| takes the steepest slope of the whole domain in every coordinate; what is left over is
    quadratic in the displacement. So this is tighter than growth alone as soon as displacements are small.

    `gradient` has shape (..., outputs, inputs), `delta` (..., inputs); the segment from x to x + d must lie in the
    domain. Refused for a curvature that no expansion follows from: max-pooled windows, ReLU, an observed range.
    """
    curvature.require_expandable(where="local_second_order")
    box = delta if isinstance(delta, Interval) else Interval.point(delta)
    require_displacement(box.lower, curvature.shape[1], where="local_second_order")
    if gradient.shape[-2:] != curvature.shape[:2]:
        raise BoundError(
            expected=f"a gradient of shape (..., {curvature.shape[0]}, {curvature.shape[1]})",
            got=f"shape {tuple(gradient.shape)}",
            where="local_second_order",
        )
    centre = torch.einsum("...ij,...j->...i", gradient, box.midpoint)
    spread = torch.einsum("...ij,...j->...i", gradient.abs(), box.radius) + curvature.remainder(box)
    return Interval(centre - spread, centre + spread)
