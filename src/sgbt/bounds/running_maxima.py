"""Weighted sums of running maxima over the taps of a filter, with a gradient that costs as little as the value.

A word near the start of a text is read by the first taps of a filter, one near its end by the last taps, and every
other word by all of them. So the sum over words of the greatest |weight| that reads each is a weighted sum of running
maxima from either side. Autograd would make a dozen passes over the weights; here it is one chain and its reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def sum_of_running_maxima(taps: Tensor, first: Sequence[float], last: Sequence[float]) -> Tensor:
    """For taps (k, d, d0): sum_l first[l] max(taps[:l + 1]) + last[l] max(taps[l:]), summed over d0: shape (d)."""
    result: Tensor = _RunningMaxima.apply(taps, tuple(first), tuple(last))  # type: ignore[no-untyped-call]
    return result


class _RunningMaxima(torch.autograd.Function):
    """The maximum of a chain goes to its greatest member, the earliest among equals: so does the gradient."""

    @staticmethod
    def forward(ctx: Any, taps: Tensor, first: tuple[float, ...], last: tuple[float, ...]) -> Tensor:
        total = taps.new_zeros(taps.shape[1])
        chains = []
        for weights, chain in ((first, range(len(taps))), (last[::-1], range(len(taps) - 1, -1, -1))):
            greatest, overtakes = taps[chain[0]], []
            total += weights[0] * greatest.sum(1)
            for weight, tap in zip(weights[1:], chain[1:], strict=True):
                overtakes.append(taps[tap] > greatest)
                greatest = torch.maximum(greatest, taps[tap])
                if weight:
                    total += weight * greatest.sum(1)
            chains.append(overtakes)
        ctx.chains, ctx.weights, ctx.shape = chains, (first, last[::-1]), taps.shape
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outward: Tensor) -> tuple[Tensor, None, None]:
        count = ctx.shape[0]
        gradient = outward.new_zeros(ctx.shape)
        for overtakes, weights, chain in zip(
            ctx.chains, ctx.weights, (range(count), range(count - 1, -1, -1)), strict=True
        ):
            flowing = outward.new_full(ctx.shape[1:], float(weights[-1]))
            for place in range(count - 1, 0, -1):
                mine = flowing * overtakes[place - 1]
                gradient[chain[place]] += mine
                flowing = flowing - mine + float(weights[place - 1])
            gradient[chain[0]] += flowing
        return gradient * outward[:, None], None, None
