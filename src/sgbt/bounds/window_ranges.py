"""What each window of a convolution can do over a domain: the ranges of phi' and phi'', and whether it can win.

All tensors have shape (filters, windows), or (filters, 1) when every window has the same range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from sgbt.bounds.activations import Activation
from sgbt.bounds.filters import Filters
from sgbt.bounds.interval import Interval
from sgbt.bounds.windows import Windows


@dataclass(frozen=True, eq=False)
class WindowRanges:
    """Ranges of phi' (`slopes`) and phi'' (`bends`), which windows may be greatest, and the texts all this is about.

    `words` is one box for every word (d0,), one per word (N, d0), or None for all texts.
    """

    slopes: Interval
    bends: Interval
    may_win: Tensor
    words: Interval | None

    @staticmethod
    def over_reals(filters: Filters, activation: Activation) -> WindowRanges:
        """The paper's choice: the supremum over every real pre-activation, so over every text."""
        weights = filters.weights
        return _everywhere(weights.shape[0], weights.dtype, weights.device, activation)

    @staticmethod
    def over_box(filters: Filters, activation: Activation, windows: Windows, words: Interval) -> WindowRanges:
        """Over the exact range of each pre-activation, for one box for all words (d0,) or one per word (N, d0)."""
        if words.lower.ndim == 1 and windows.padding == 0:  # every window reads the same box through every tap
            centre = torch.nn.functional.linear(words.midpoint, filters.taps.sum(0), filters.bias)
            spread = torch.nn.functional.linear(words.radius, filters.magnitudes.sum(0))
            z = Interval(centre - spread, centre + spread)[:, None]
            may_win = torch.ones_like(z.lower, dtype=torch.bool)
        else:
            texts = flat_texts(words, windows)
            z = windows.convolve_box(texts, filters.weights, filters.bias)
            may_win = _may_win(filters, activation, windows, texts, z)
        return WindowRanges(activation.range(z, order=1), activation.range(z, order=2), may_win, words)

    def of_winners(self, derivative: Interval) -> Interval:
        """The derivative of max pooling through each window: zero through a window that can never win."""
        return Interval(
            torch.where(self.may_win, derivative.lower, torch.zeros_like(derivative.lower)),
            torch.where(self.may_win, derivative.upper, torch.zeros_like(derivative.upper)),
        )


@lru_cache(maxsize=64)
def _everywhere(outputs: int, dtype: torch.dtype, device: torch.device, activation: Activation) -> WindowRanges:
    """The ranges over all reals: constants, which a penalty would otherwise make anew in every step."""

    def ranged(order: int) -> Interval:
        ends = activation.range_over_reals(order=order)
        return Interval(*(torch.full((outputs, 1), end, dtype=dtype, device=device) for end in ends))

    return WindowRanges(ranged(1), ranged(2), torch.ones(outputs, 1, dtype=torch.bool, device=device), None)


def flat_texts(words: Interval, windows: Windows) -> Interval:
    """A box of words, one for all or one each, as a box of flattened texts (N d0,)."""
    box = words.expand(windows.length, -1)
    return Interval(box.lower.flatten(), box.upper.flatten())


def _may_win(filters: Filters, activation: Activation, windows: Windows, texts: Interval, z: Interval) -> Tensor:
    """Whether a window is greatest for some text in the box: not if its best value is below another's worst.

    Sums of n terms are off by at most n + 2 roundings of the sum of the terms' magnitudes, and activations by a few;
    both count in favour of the window, so that rounding cannot rule out a winner.
    """
    unit = torch.finfo(z.lower.dtype).eps
    with torch.no_grad():  # a yes or no has no gradient
        weight, bias = filters.weights.abs(), None if filters.bias is None else filters.bias.abs()
        rounding = (weight[0].numel() + 2) * unit * windows.convolve(texts.magnitude, weight, bias)
        values = activation.range(Interval(z.lower - rounding, z.upper + rounding))
        slack = 8 * unit * (1 + values.magnitude)
        return values.upper + slack >= (values.lower - slack).amax(1, keepdim=True)
