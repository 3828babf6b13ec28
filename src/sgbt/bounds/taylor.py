"""From derivative bounds to bounds on the output: the paper's Proposition 1, and the form that is really tighter."""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.bounds.curvature import CurvatureBound
from sgbt.bounds.dense import require_displacement
from sgbt.bounds.growth import GrowthBound
from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError


def proposition_one(output: Tensor, growth: GrowthBound, curvature: CurvatureBound, delta: Tensor) -> Interval:
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


def local_second_order(gradient: Tensor, curvature: CurvatureBound, delta: Tensor | Interval) -> Interval:
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
