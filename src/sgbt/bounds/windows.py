"""Which word meets which tap of a convolution kernel: the corrected index functions of the paper's Proposition 3.

A text of N words, flattened word by word, has coordinate j = (p, f): word p = j // d0 and dimension f = j % d0.
Window t of a kernel of k taps with zero padding q reads word p through tap l = p + q - t, when 0 <= l < k. (The paper's
alpha and beta shift by t coordinates where t words are meant.)

What each window can do over a domain, the ranges of phi' and phi'' and whether it can win (`WindowRanges`), has shape
(filters, windows), or (filters, 1) when every window has the same range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import Activation
from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError
from sgbt.core.shapes import Bool, Float


@dataclass(frozen=True, eq=False)
class Filters:
    """Weights W (d, d0, k) and bias (d) as torch has them, W tap by tap (k, d, d0), and |W| tap by tap.

    The last two are laid out and computed once: a total then reads contiguous memory, and |W| has one backward pass.
    """

    weights: Float[Tensor, "filters width taps"]
    bias: Float[Tensor, " filters"] | None
    taps: Float[Tensor, "taps filters width"]
    magnitudes: Float[Tensor, "taps filters width"]

    @staticmethod
    def of(conv: nn.Conv1d) -> Filters:
        """The filters of a convolution, with gradients attached."""
        taps = conv.weight.permute(2, 0, 1).contiguous()
        return Filters(conv.weight, conv.bias, taps, taps.abs())


def padding_of(conv: nn.Conv1d) -> int:
    """The zeros on either side, for the kind of convolution that is bounded: stride 1, dilation 1, one group."""
    asked = {"stride": conv.stride[0], "dilation": conv.dilation[0], "groups": conv.groups}
    for name, value in asked.items():
        if value != 1:
            raise BoundError(expected=f"a convolution with {name}=1", got=f"{name}={value}", where="ConvBounds.of")
    if conv.padding == "valid":
        return 0
    if conv.padding == "same" and conv.kernel_size[0] % 2 == 0:
        raise BoundError(expected="equal padding on either side", got="padding='same' with an even kernel")
    padding = conv.kernel_size[0] // 2 if conv.padding == "same" else int(conv.padding[0])
    if padding and conv.padding_mode != "zeros":
        raise BoundError(expected="padding by zeros", got=f"padding_mode={conv.padding_mode!r}", where="ConvBounds.of")
    return padding


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one kernel over a text of fixed length, stride 1, with `padding` zeros on either side."""

    length: int
    kernel: int
    padding: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.length < 1:
            least = max(1, self.kernel - 2 * self.padding)
            raise BoundError(
                expected=f"a text of at least {least} words for a kernel of {self.kernel} with padding {self.padding}",
                got=f"length {self.length}, which has no window",
                where="ConvBounds",
                remedy="pad short texts to the kernel's width, as the convolution itself requires",
            )

    @property
    def count(self) -> int:
        """How many windows there are: N + 2 q - k + 1."""
        return self.length + 2 * self.padding - self.kernel + 1

    def taps(self, position: int) -> range:
        """The taps through which some window reads this word: all of them but near the borders."""
        shifted = position + self.padding
        return range(max(0, shifted - self.count + 1), min(self.kernel - 1, shifted) + 1)

    def groups(self) -> tuple[tuple[slice, slice], ...]:
        """Runs of neighbouring words that are read through the same taps, as (words, taps): 2 k - 1 at most."""
        return _groups(self)

    def inside(self, like: Tensor) -> Float[Tensor, "taps windows"]:
        """Shape (taps, windows): 1 where the tap of that window falls on a word, 0 where it falls on padding."""
        word = self._word_of(like.device)
        return ((word >= 0) & (word < self.length)).to(like.dtype)

    def per_word(self, values: Float[Tensor, "filters windows"]) -> Float[Tensor, "filters words taps"]:
        """Numbers per window (d, windows or 1) as seen from each word and tap, (d, N, k); 0 where no window is."""
        window = torch.arange(self.length, device=values.device)[:, None] + self.padding
        window = window - torch.arange(self.kernel, device=values.device)
        exists = (window >= 0) & (window < self.count)
        seen = values.expand(-1, self.count)[:, window.clamp(0, self.count - 1)]
        return torch.where(exists, seen, torch.zeros_like(seen))

    def unrolled(self, weights: Float[Tensor, "filters width taps"], window: int) -> Float[Tensor, "filters inputs"]:
        """One window as a linear form on the flattened text: shape (d, N d0), zero outside the window."""
        start = window - self.padding
        first, last = max(0, -start), min(self.kernel, self.length - start)
        filters, dimensions, _ = weights.shape
        if last <= first:  # nothing but padding
            return weights.new_zeros(filters, self.length * dimensions)
        inside = weights[:, :, first:last].transpose(1, 2).reshape(filters, -1)
        before = max(0, start) * dimensions
        return torch.nn.functional.pad(inside, (before, self.length * dimensions - before - inside.shape[1]))

    def shared(self, first: int, second: int) -> range:
        """The windows that read both words: none, when they are a kernel apart."""
        latest, earliest = max(first, second), min(first, second)
        start = max(0, latest + self.padding - self.kernel + 1)
        return range(start, max(start, min(self.count - 1, earliest + self.padding) + 1))

    def convolve(
        self,
        text: Float[Tensor, "*batch inputs"],
        weights: Float[Tensor, "filters width taps"],
        bias: Float[Tensor, " filters"] | None = None,
    ) -> Float[Tensor, "*batch filters windows"]:
        """The pre-activations (..., d, windows) of flattened texts (..., N d0)."""
        words = text.reshape(-1, self.length, weights.shape[1]).transpose(1, 2)
        z = torch.nn.functional.conv1d(words, weights, bias, padding=self.padding)
        return z.reshape(*text.shape[:-1], *z.shape[1:])

    def convolve_box(
        self,
        texts: Interval,
        weights: Float[Tensor, "filters width taps"],
        bias: Float[Tensor, " filters"] | None = None,
    ) -> Interval:
        """The exact range of the pre-activations over a box of flattened texts (Proposition 4, window by window)."""
        centre = self.convolve(texts.midpoint, weights, bias)
        spread = self.convolve(texts.radius, weights.abs())
        return Interval(centre - spread, centre + spread)

    def _word_of(self, device: torch.device) -> Tensor:
        taps = torch.arange(self.kernel, device=device)[:, None]
        return torch.arange(self.count, device=device) - self.padding + taps


@lru_cache(maxsize=256)
def _groups(windows: Windows) -> tuple[tuple[slice, slice], ...]:
    """Computed once per geometry: the regulariser asks at every training step."""
    found = []
    for taps, positions in groupby(range(windows.length), key=windows.taps):
        words = list(positions)
        if len(taps):
            found.append((slice(words[0], words[-1] + 1), slice(taps.start, taps.stop)))
    return tuple(found)


def window_norms(magnitudes: Float[Tensor, "taps filters width"], windows: Windows) -> Float[Tensor, "filters windows"]:
    """||W_i||_1 over the taps of each window that fall on words, shape (d, windows), or (d, 1) without padding."""
    per_tap = magnitudes.sum(2)
    return per_tap.T @ windows.inside(magnitudes) if windows.padding else per_tap.sum(0)[:, None]


@dataclass(frozen=True, eq=False)
class WindowRanges:
    """Ranges of phi' (`slopes`) and phi'' (`bends`), which windows may be greatest, and the texts all this is about.

    `words` is one box for every word (d0,), one per word (N, d0), or None for all texts.
    """

    slopes: Interval
    bends: Interval
    may_win: Bool[Tensor, "filters windows"]
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


def _may_win(
    filters: Filters, activation: Activation, windows: Windows, texts: Interval, z: Interval
) -> Bool[Tensor, "filters windows"]:
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
