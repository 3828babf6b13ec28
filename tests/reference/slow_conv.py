"""Our convolution bounds once more, slowly: one entry, one window at a time, from the definition."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sgbt.bounds import Interval


def window_forms(conv: nn.Conv1d, length: int) -> Tensor:
    """Each window as a linear form on the flattened text, by pushing unit texts through torch: (d, windows, N d0)."""
    units = torch.eye(length * conv.in_channels, dtype=conv.weight.dtype)
    texts = units.view(-1, length, conv.in_channels).transpose(1, 2)
    z = nn.functional.conv1d(texts, conv.weight, None, padding=conv.padding)
    return z.permute(1, 2, 0).detach()


def curvature_entry(forms: Tensor, bends: Interval, pooling: str, i: int, j: int, k: int) -> float:
    """T_ijk from the windows' forms and the ranges (d, windows) of phi''."""
    windows = forms.shape[1]
    bends = Interval(bends.lower.detach(), bends.upper.detach())
    products = [float(forms[i, t, j] * forms[i, t, k]) for t in range(windows)]
    ranges = [(float(bends.lower[i, t]), float(bends.upper[i, t])) for t in range(windows)]
    if pooling == "max":
        return max(max(abs(lo), abs(hi)) * abs(p) for (lo, hi), p in zip(ranges, products, strict=True))
    least = sum(min(lo * p, hi * p) for (lo, hi), p in zip(ranges, products, strict=True))
    greatest = sum(max(lo * p, hi * p) for (lo, hi), p in zip(ranges, products, strict=True))
    return max(abs(least), abs(greatest)) / windows


def growth_entry(forms: Tensor, slopes: Interval, pooling: str, i: int, j: int) -> float:
    """M_ij likewise, from the ranges of phi'."""
    ones = torch.ones_like(forms[..., :1])
    return curvature_entry(torch.cat((forms, ones), dim=-1), slopes, pooling, i, j, forms.shape[2])
