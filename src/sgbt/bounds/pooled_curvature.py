"""Curvature of a convolution, an activation phi and a pooling over windows (Proposition 3, corrected).

Window t of filter i contributes phi(z_it) with z_it affine in the text. Its Hessian is phi''(z_it) W W', with W the
filter laid over the window's words. `derivative` holds the range of phi'' over each window's pre-activations, shape
(d, windows), or (d, 1) when all windows share it (`window_ranges`).

Max pooling copies, wherever it is differentiable, the derivatives of one window: bounds are maxima over windows.
Average pooling averages them: bounds are averages, and cancellations between windows count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds.curvature import CurvatureBound
from sgbt.bounds.filters import Filters
from sgbt.bounds.interval import Interval
from sgbt.bounds.windows import Windows, window_norms

MAX_POOLING_OBSTACLE = (
    "max pooling, which is not differentiable where the winning window changes: the gradient at the text says nothing "
    "about the window that wins after the substitution"
)
KINK_OBSTACLE = "an activation with a kink (ReLU), whose curvature is zero on either side and undefined at it"


@dataclass(frozen=True, eq=False)
class PooledCurvature(CurvatureBound):
    """What the curvature bounds of both poolings share: the filters and the range of phi'' over each window."""

    filters: Filters
    windows: Windows
    derivative: Interval
    proven: bool
    smooth: bool

    @property
    def taylor_obstacle(self) -> str | None:
        """A kink of the activation, if it has one."""
        return None if self.smooth else KINK_OBSTACLE

    @property
    def shape(self) -> tuple[int, int, int]:
        """Filters, and N d0 coordinates of the flattened text twice."""
        inputs = self.windows.length * self.filters.weights.shape[1]
        return self.filters.weights.shape[0], inputs, inputs

    def _like(self) -> Tensor:
        return self.filters.weights

    def _outer(self, window: int) -> Tensor:
        """W W' of one window, on the flattened text: shape (d, N d0, N d0)."""
        row = self.windows.unrolled(self.filters.weights, window)
        return row[:, :, None] * row[:, None, :]

    def _per_window(self, values: Tensor) -> list[Tensor]:
        """The numbers (d, windows or 1) window by window, each of shape (d, 1, 1)."""
        return [column[:, None, None] for column in values.expand(-1, self.windows.count).unbind(1)]

    def _bends(self, displacement: Interval) -> Tensor:
        """sup |phi''| times the square of the greatest displacement of z, per window: shape (..., d, windows)."""
        moved = self.windows.convolve_box(displacement, self.filters.weights).magnitude
        return self.derivative.magnitude * moved.square()

    def _factors_at(self, i: int, j: int, k: int) -> tuple[Interval, Tensor]:
        """For each window that reads both coordinates: the range of phi'', and the product of their weights."""
        (word, dimension), (other, second) = (divmod(index, self.filters.weights.shape[1]) for index in (j, k))
        windows, shift = self.windows.shared(word, other), self.windows.padding
        left = self.filters.weights[i, dimension, [word + shift - t for t in windows]]
        right = self.filters.weights[i, second, [other + shift - t for t in windows]]
        return self.derivative.expand(-1, self.windows.count)[i, windows.start : windows.stop], left * right


@dataclass(frozen=True, eq=False)
class MaxPooledCurvature(PooledCurvature):
    """T_ijk = max over windows t of sup |phi''(z_it)| |W_{i,f(j),p(j)-t} W_{i,f(k),p(k)-t}|; factorised: their sum.

    Zero for words a kernel apart, which no window reads together; never above the paper's product of two maxima.
    The bound holds at every text where the derivative exists. It is *not* the remainder of a Taylor expansion of the
    pooled output: with F = tanh(max(x1, x2)), moving (1, .99) to (1, 1.10) changes F by .0389 although gradient and
    curvature at the start allow .0047, because another window wins at the end. `ConvBounds.enclose` is the sound form.
    """

    @property
    def taylor_obstacle(self) -> str | None:
        """Windows may take over from one another."""
        return MAX_POOLING_OBSTACLE if self.windows.count > 1 else super().taylor_obstacle

    def total(self) -> Tensor:
        """sum_i sum_t sup |phi''(z_it)| ||W_i||_1^2 over the taps that fall on words: O(filters (d0 k + N))."""
        bends = self.derivative.magnitude * window_norms(self.filters.magnitudes, self.windows).square()
        return bends.expand(-1, self.windows.count).sum()

    def _dense(self, *, factorised: bool) -> Tensor:
        bound = self.filters.weights.new_zeros(self.shape)
        for window, bend in enumerate(self._per_window(self.derivative.magnitude)):
            here = bend * self._outer(window).abs()
            bound = bound + here if factorised else torch.maximum(bound, here)
        return bound

    def _entry(self, i: int, j: int, k: int) -> Tensor:
        bends, products = self._factors_at(i, j, k)
        return (bends.magnitude * products.abs()).amax(0) if len(products) else self.filters.weights.new_zeros(())

    def _remainder(self, displacement: Interval) -> Tensor:
        return self._bends(displacement).sum(-1) / 2


@dataclass(frozen=True, eq=False)
class AveragePooledCurvature(PooledCurvature):
    """T_ijk = sup |mean over t of phi''(z_it) W_{i,f(j),p(j)-t} W_{i,f(k),p(k)-t}|. Smooth, so Taylor holds."""

    def total(self) -> Tensor:
        """sum_i mean_t sup |phi''(z_it)| ||W_i||_1^2 over the taps that fall on words: O(filters (d0 k + N))."""
        return (self.derivative.magnitude * window_norms(self.filters.magnitudes, self.windows).square()).mean(1).sum()

    def _dense(self, *, factorised: bool) -> Tensor:
        centre, spread = self.filters.weights.new_zeros(self.shape), self.filters.weights.new_zeros(self.shape)
        bends = self.derivative.magnitude if factorised else self.derivative.radius
        for window, bend in enumerate(self._per_window(bends)):
            spread = spread + bend * self._outer(window).abs()
        if not factorised:
            for window, bend in enumerate(self._per_window(self.derivative.midpoint)):
                centre = centre + bend * self._outer(window)
        return (centre.abs() + spread) / self.windows.count

    def _entry(self, i: int, j: int, k: int) -> Tensor:
        bends, products = self._factors_at(i, j, k)
        return ((bends.midpoint * products).sum().abs() + (bends.radius * products.abs()).sum()) / self.windows.count

    def _remainder(self, displacement: Interval) -> Tensor:
        return self._bends(displacement).mean(-1) / 2
