"""Proposition 3 exactly as the paper prints it, and its product of maxima with the index functions mended."""

from __future__ import annotations

import torch
from torch import Tensor


def alpha(i: int, a: int, d: int) -> int:
    return (i - a) // d + 1


def beta(i: int, a: int, d: int) -> int:
    return 1 + (i - a) % d


def printed_factor(weights: Tensor, length: int, i: int, j: int) -> float:
    """max over t of |W_{i, beta(j,t,d0), alpha(j,t,d0)}|, indices counted from 1, over those that exist."""
    _, d0, kernel = weights.shape
    found = [
        float(weights[i - 1, beta(j, t, d0) - 1, alpha(j, t, d0) - 1].abs())
        for t in range(1, length - kernel + 2)
        if 1 <= alpha(j, t, d0) <= kernel
    ]
    return max(found, default=0.0)


def printed_entry(weights: Tensor, length: int, i: int, j: int, k: int, sup: float) -> float:
    """The paper's T_ijk, i, j, k counted from 1."""
    return sup * printed_factor(weights, length, i, j) * printed_factor(weights, length, i, k)


def product_of_maxima(weights: Tensor, length: int, sup: float) -> Tensor:
    """The same bound with word p and tap p - t where they belong: dense, (d, N d0, N d0), loops and all."""
    filters, d0, kernel = weights.shape
    strongest = torch.zeros(filters, length, d0, dtype=weights.dtype)
    for t in range(length - kernel + 1):
        for tap in range(kernel):
            strongest[:, t + tap] = torch.maximum(strongest[:, t + tap], weights[:, :, tap].abs())
    flat = strongest.flatten(1)
    return sup * flat[:, :, None] * flat[:, None, :]
