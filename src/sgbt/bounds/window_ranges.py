"""What each window of a convolution can do over a domain: the ranges of phi' and phi'', and whether it can win.

All tensors have shape (filters, windows), or (filters, 1) when every window has the same range.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import Activation
from sgbt.bounds.interval import Interval
from sgbt.bounds.windows import Windows


@dataclass(frozen=True, eq=False)
class WindowRanges:
    """Ranges of phi' (`slopes`) and phi'' (`bends`), which windows may be greatest, and the texts all this is about.

    `texts` is a box of flattened texts, or None for all texts.
    """

    slopes: Interval
    bends: Interval
    may_win: Tensor
    texts: Interval | None

    @staticmethod
    def over_reals(conv: nn.Conv1d, activation: Activation) -> WindowRanges:
        """The paper's choice: the supremum over every real pre-activation, so over every text."""

        def everywhere(order: int) -> Interval:
            least, greatest = activation.range_over_reals(order=order)
            shape = (conv.out_channels, 1)
            return Interval(conv.weight.new_full(shape, least), conv.weight.new_full(shape, greatest))

        may_win = torch.ones(conv.out_channels, 1, dtype=torch.bool, device=conv.weight.device)
        return WindowRanges(everywhere(1), everywhere(2), may_win, None)

    @staticmethod
    def over_box(conv: nn.Conv1d, activation: Activation, windows: Windows, words: Interval) -> WindowRanges:
        """Over the exact range of each pre-activation, for one box for all words (d0,) or one per word (N, d0)."""
        box = words.expand(windows.length, -1)
        texts = Interval(box.lower.flatten(), box.upper.flatten())
        if words.lower.ndim == 1 and windows.padding == 0:  # every window reads the same box through every tap
            centre = torch.nn.functional.linear(words.midpoint, conv.weight.sum(2), conv.bias)
            spread = torch.nn.functional.linear(words.radius, conv.weight.abs().sum(2))
            z = Interval(centre - spread, centre + spread)[:, None]
            may_win = torch.ones_like(z.lower, dtype=torch.bool)
        else:
            z = windows.convolve_box(texts, conv.weight, conv.bias)
            may_win = _may_win(conv, activation, windows, texts, z)
        return WindowRanges(activation.range(z, order=1), activation.range(z, order=2), may_win, texts)

    def of_winners(self, derivative: Interval) -> Interval:
        """The derivative of max pooling through each window: zero through a window that can never win."""
        return Interval(
            torch.where(self.may_win, derivative.lower, torch.zeros_like(derivative.lower)),
            torch.where(self.may_win, derivative.upper, torch.zeros_like(derivative.upper)),
        )


def _may_win(conv: nn.Conv1d, activation: Activation, windows: Windows, texts: Interval, z: Interval) -> Tensor:
    """Whether a window is greatest for some text in the box: not if its best value is below another's worst.

    Sums of n terms are off by at most n + 2 roundings of the sum of the terms' magnitudes, and activations by a few;
    both count in favour of the window, so that rounding cannot rule out a winner.
    """
    unit = torch.finfo(z.lower.dtype).eps
    with torch.no_grad():  # a yes or no has no gradient
        weight, bias = conv.weight.abs(), None if conv.bias is None else conv.bias.abs()
        rounding = (weight[0].numel() + 2) * unit * windows.convolve(texts.magnitude, weight, bias)
        values = activation.range(Interval(z.lower - rounding, z.upper + rounding))
        slack = 8 * unit * (1 + values.magnitude)
        return values.upper + slack >= (values.lower - slack).amax(1, keepdim=True)
