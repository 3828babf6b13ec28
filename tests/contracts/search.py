"""Looking for trouble: points of a box where gradient ascent brings a derivative as close to its bound as it can."""

from __future__ import annotations

import torch
from tests.contracts.cases import Function
from tests.reference.cell import hessians, jacobians
from tests.strategies import points_in
from torch import Tensor

from sgbt.bounds import Interval


def ascend(function: Function, box: Interval, growth: Tensor, curvature: Tensor, *, starts: int, seed: int) -> Tensor:
    """Points found by projected sign ascent on |derivative| / bound, for random entries of gradient and Hessian."""
    floor = 1e-12
    first = points_in(box, starts, seed)
    gradient_targets = _random_entries(growth, starts, seed)
    hessian_targets = _random_entries(curvature, starts, seed + 1)
    found = []
    for derivative, bound, target in ((jacobians, growth, gradient_targets), (hessians, curvature, hessian_targets)):
        points, step = first.clone(), box.upper - box.lower
        for _ in range(12):
            points = points.detach().requires_grad_()
            ratio = (derivative(function, points).abs() / (bound + floor)).flatten(1)
            gain = ratio.gather(1, target[:, None]).sum()
            (slope,) = torch.autograd.grad(gain, points)
            step = step * 0.7
            points = (points + step * slope.sign()).clamp(box.lower, box.upper)
        found.append(points.detach())
    return torch.cat(found)


def _random_entries(bound: Tensor, count: int, seed: int) -> Tensor:
    return torch.randint(bound.numel(), (count,), generator=torch.Generator().manual_seed(seed))
