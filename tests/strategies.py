"""Hypothesis strategies and seeded makers of boxes, weights, layers and sizes; values come from torch's generator."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from sgbt.bounds import Interval

seeds = st.integers(0, 2**31 - 1)
sizes = st.integers(1, 4)
scales = st.sampled_from([0.0, 0.1, 1.0, 3.0])  # of weights; zero weights are layers too
radii = st.sampled_from([0.0, 1e-3, 0.1, 1.0, 3.0])  # of boxes, from points to [-3, 3]
precisions = st.sampled_from([torch.float64, torch.float32])


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_box(size: int | tuple[int, ...], radius: float, seed: int, dtype: torch.dtype = torch.float64) -> Interval:
    """A box inside [-3, 3], of uneven widths up to `radius`; a point where the radius is 0."""
    shape, random = (size,) if isinstance(size, int) else size, generator(seed)
    half = radius * torch.rand(shape, generator=random, dtype=dtype)
    centre = (3 - half) * (2 * torch.rand(shape, generator=random, dtype=dtype) - 1)
    return Interval(centre - half, centre + half)


def shrink(box: Interval, seed: int) -> Interval:
    """A random box inside another."""
    fractions = torch.rand(2, *box.shape, generator=generator(seed), dtype=box.lower.dtype).sort(0).values
    width = box.upper - box.lower
    inner = (box.lower + fractions * width).clamp(box.lower, box.upper)
    return Interval(inner[0], inner[1])


def points_in(box: Interval, count: int, seed: int) -> Tensor:
    """Interior points, points on faces, and corners: about a third of each."""
    random = generator(seed)
    fractions = torch.rand(count, *box.shape, generator=random, dtype=box.lower.dtype)
    fractions[count // 3 :: 3] = fractions[count // 3 :: 3].round()
    pinned = torch.rand(fractions.shape, generator=random, dtype=box.lower.dtype) < 0.3
    fractions[1::3] = torch.where(pinned[1::3], fractions[1::3].round(), fractions[1::3])
    return (box.lower + fractions * (box.upper - box.lower)).clamp(box.lower, box.upper)


def random_cell(d0: int, d: int, *, scale: float, seed: int, bias: bool = True, dtype=torch.float64) -> nn.LSTMCell:
    cell = nn.LSTMCell(d0, d, bias=bias, dtype=dtype)
    refill(cell, scale, seed)
    return cell


def random_conv(
    d0: int,
    filters: int,
    kernel: int,
    *,
    scale: float,
    seed: int,
    padding: int = 0,
    bias: bool = True,
    dtype=torch.float64,
) -> nn.Conv1d:
    conv = nn.Conv1d(d0, filters, kernel, padding=padding, bias=bias, dtype=dtype)
    refill(conv, scale, seed)
    return conv


def refill(module: nn.Module, scale: float, seed: int) -> None:
    random = generator(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=random, dtype=parameter.dtype))
