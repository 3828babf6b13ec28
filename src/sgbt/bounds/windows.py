"""Which word meets which tap of a convolution kernel: the corrected index functions of the paper's Proposition 3.

A text of N words, flattened word by word, has coordinate j = (p, f): word p = j // d0 and dimension f = j % d0.
Window t of a kernel of k taps with zero padding q reads word p through tap l = p + q - t, when 0 <= l < k. (The paper's
alpha and beta shift by t coordinates where t words are meant.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import torch
from torch import Tensor

from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError


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

    def inside(self, like: Tensor) -> Tensor:
        """Shape (taps, windows): 1 where the tap of that window falls on a word, 0 where it falls on padding."""
        word = self._word_of(like.device)
        return ((word >= 0) & (word < self.length)).to(like.dtype)

    def per_word(self, values: Tensor) -> Tensor:
        """Numbers per window (d, windows or 1) as seen from each word and tap, (d, N, k); 0 where no window is."""
        window = torch.arange(self.length, device=values.device)[:, None] + self.padding
        window = window - torch.arange(self.kernel, device=values.device)
        exists = (window >= 0) & (window < self.count)
        seen = values.expand(-1, self.count)[:, window.clamp(0, self.count - 1)]
        return torch.where(exists, seen, torch.zeros_like(seen))

    def unrolled(self, weights: Tensor, window: int) -> Tensor:
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

    def convolve(self, text: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
        """The pre-activations (..., d, windows) of flattened texts (..., N d0)."""
        words = text.reshape(-1, self.length, weights.shape[1]).transpose(1, 2)
        z = torch.nn.functional.conv1d(words, weights, bias, padding=self.padding)
        return z.reshape(*text.shape[:-1], *z.shape[1:])

    def convolve_box(self, texts: Interval, weights: Tensor, bias: Tensor | None = None) -> Interval:
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


def window_norms(magnitudes: Tensor, windows: Windows) -> Tensor:
    """||W_i||_1 over the taps of each window that fall on words, shape (d, windows), or (d, 1) without padding."""
    per_tap = magnitudes.sum(2)
    return per_tap.T @ windows.inside(magnitudes) if windows.padding else per_tap.sum(0)[:, None]
