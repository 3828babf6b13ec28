"""Growth and curvature of a convolution, an activation phi and a pooling over windows (Proposition 3, corrected).

Window t of filter i contributes phi(z_it) with z_it affine in the text. Its gradient is phi'(z_it) W and its Hessian
phi''(z_it) W W', with W the filter laid over the window's words. `derivative` holds the range of phi' or phi'' over
each window's pre-activations, shape (d, windows), or (d, 1) when all windows share it (`WindowRanges`).

Max pooling copies, wherever it is differentiable, the derivatives of one window: bounds are maxima over windows.
Average pooling averages them: bounds are averages, and cancellations between windows count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import torch
from torch import Tensor

from sgbt.bounds.curvature import CurvatureBound
from sgbt.bounds.growth import GrowthBound
from sgbt.bounds.interval import Interval, greater
from sgbt.bounds.windows import Filters, Windows, window_norms
from sgbt.core.shapes import Float


@dataclass(frozen=True, eq=False)
class PooledGrowth(GrowthBound):
    """What the growth bounds of both poolings share: the filters and the range of phi' over each window."""

    filters: Filters
    windows: Windows
    derivative: Interval
    proven: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Filters, and N d0 coordinates of the flattened text."""
        return self.filters.weights.shape[0], self.windows.length * self.filters.weights.shape[1]

    def _like(self) -> Tensor:
        return self.filters.weights

    def _factors_at(self, i: int, j: int) -> tuple[Interval, Tensor]:
        """For each window that reads coordinate j: the range of phi', and the weight that multiplies it."""
        word, dimension = divmod(j, self.filters.weights.shape[1])
        windows = self.windows.shared(word, word)
        taps = [word + self.windows.padding - t for t in windows]
        slopes = self.derivative.expand(-1, self.windows.count)[i, windows.start : windows.stop]
        return slopes, self.filters.weights[i, dimension, taps]


@dataclass(frozen=True, eq=False)
class MaxPooledGrowth(PooledGrowth):
    """M_ij = max over windows t of sup |phi'(z_it)| |W_{i,f(j),p(j)-t}|; factorised: the two maxima apart."""

    def total(self) -> Float[Tensor, ""]:
        """sum_i sup |phi'| sum_j max_t |W_ij|, words grouped by the taps that reach them: O(filters d0 k).

        Each maximum is |W| at the tap that wins it, so the sum is |W| times how many words each tap wins. Those counts
        are whole numbers, constant around almost every W: they are found without a graph (autograd through the maxima
        costs several times more), and the gradient is that of the winners, a subgradient where taps tie.
        """
        reach = (self._words_won() * self.filters.magnitudes).sum((0, 2))
        return (self._steepest() * reach).sum()

    @torch.no_grad()
    def _words_won(self) -> Float[Tensor, "taps filters width"]:
        """For each tap, filter and dimension (k, d, d0): how many words of the text this tap is the strongest for.

        The first words are read through the first taps and the last words through the last, so running winners from
        either end answer for all runs of words.
        """
        absolute = self.filters.magnitudes.detach()
        kernel = len(absolute)
        first, last, between = [0.0] * kernel, [0.0] * kernel, []
        for words, taps in self.windows.groups():
            if taps.start == 0:
                first[taps.stop - 1] += words.stop - words.start
            elif taps.stop == kernel:
                last[kernel - 1 - taps.start] += words.stop - words.start
            else:  # a text shorter than two kernels
                between.append((words, taps))
        values = absolute.unbind(0)
        from_start, from_end = prefixes_won(values, first), prefixes_won(values[::-1], last)[::-1]
        won = torch.empty_like(absolute)
        for place, counted in enumerate(won.unbind(0)):
            torch.add(from_start[place], from_end[place], out=counted)
        for words, taps in between:
            winner = (taps.start + absolute[taps].argmax(0))[None]
            won.scatter_add_(0, winner, won.new_full(winner.shape, words.stop - words.start))
        return won

    def _strongest(self) -> list[tuple[slice, Tensor]]:
        """For each run of words, the greatest |weight| (d, d0) over the taps that read them.

        Near the start of a text those are the first taps, near its end the last: running maxima from either side.
        """
        taps: tuple[Tensor, ...] = self.filters.magnitudes.unbind(0)
        first, last = list(accumulate(taps, greater)), list(accumulate(reversed(taps), greater))[::-1]

        def greatest(start: int, stop: int) -> Tensor:
            if start == 0:
                return first[stop - 1]
            return last[start] if stop == len(taps) else reduce(greater, taps[start:stop])

        return [(words, greatest(among.start, among.stop)) for words, among in self.windows.groups()]

    def _steepest(self) -> Tensor:
        return self.derivative.magnitude.amax(-1)

    def _dense(self, *, factorised: bool) -> Float[Tensor, "filters inputs"]:
        slopes = self._steepest()[:, None] if factorised else self.derivative.magnitude
        seen = self.windows.per_word(slopes)
        bound = torch.zeros_like(self.filters.weights[:, None, :, 0])
        for tap in range(self.windows.kernel):
            bound = torch.maximum(bound, seen[:, :, None, tap] * self.filters.weights[:, None, :, tap].abs())
        return bound.flatten(1)

    def _entry(self, i: int, j: int) -> Tensor:
        slopes, weights = self._factors_at(i, j)
        return (slopes.magnitude * weights.abs()).amax(0) if len(weights) else self.filters.weights.new_zeros(())

    def _apply(self, magnitude: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch filters"]:
        words = magnitude.reshape(*magnitude.shape[:-1], self.windows.length, -1)
        moved = [words[..., run, :].sum(-2) @ strongest.T for run, strongest in self._strongest()]
        return self._steepest() * torch.stack(moved).sum(0)


@dataclass(frozen=True, eq=False)
class AveragePooledGrowth(PooledGrowth):
    """M_ij = sup |mean over t of phi'(z_it) W_{i,f(j),p(j)-t}|, each window's phi' varying in its range."""

    def total(self) -> Float[Tensor, ""]:
        """sum_i mean_t sup |phi'(z_it)| ||W_i||_1 over the taps that fall on words: O(filters (d0 k + N))."""
        return (self.derivative.magnitude * window_norms(self.filters.magnitudes, self.windows)).mean(1).sum()

    def _dense(self, *, factorised: bool) -> Float[Tensor, "filters inputs"]:
        absolute = self.filters.weights.abs()
        if factorised:
            return self._sum_over_taps(self.derivative.magnitude, absolute) / self.windows.count
        centre = self._sum_over_taps(self.derivative.midpoint, self.filters.weights).abs()
        return (centre + self._sum_over_taps(self.derivative.radius, absolute)) / self.windows.count

    def _sum_over_taps(self, values: Tensor, weights: Tensor) -> Tensor:
        return torch.einsum("ipl,ifl->ipf", self.windows.per_word(values), weights).flatten(1)

    def _entry(self, i: int, j: int) -> Tensor:
        slopes, weights = self._factors_at(i, j)
        return ((slopes.midpoint * weights).sum().abs() + (slopes.radius * weights.abs()).sum()) / self.windows.count

    def _apply(self, magnitude: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch filters"]:
        return (self.derivative.magnitude * self.windows.convolve(magnitude, self.filters.weights.abs())).mean(-1)


def prefixes_won(values: Sequence[Tensor], counts: Sequence[float]) -> list[Tensor]:
    """For each place, how often its value is the greatest of the first 1, 2, ... of them.

    The n-th prefix counts `counts[n - 1]` times. A place that sets a record wins every prefix up to the next record, so
    one pass forward finds the records and one pass back adds up what lies between them. Of equal values the first wins.
    Records are kept as numbers: a product with truth values would convert them anew each time. Prefixes at the end that
    count nothing are not looked at; the places that only they have win nothing.
    """
    longest = max((place + 1 for place, count in enumerate(counts) if count), default=1)
    best, records = values[0], []
    for place in range(1, longest):
        if place > 1:
            best = torch.maximum(best, values[place - 1])
        records.append(torch.gt(values[place], best, out=torch.empty_like(best)))
    ahead = torch.full_like(best, counts[longest - 1])
    won = [ahead.new_zeros(()).expand_as(ahead)] * (len(values) - longest)
    for place in range(longest - 1, 0, -1):
        mine = records[place - 1].mul_(ahead)
        won.append(mine)
        ahead.sub_(mine).add_(counts[place - 1])
    return [ahead, *won[::-1]]


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

    def _outer(self, window: int) -> Float[Tensor, "filters inputs inputs"]:
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

    def total(self) -> Float[Tensor, ""]:
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

    def _remainder(self, displacement: Interval) -> Float[Tensor, "*batch filters"]:
        return self._bends(displacement).sum(-1) / 2


@dataclass(frozen=True, eq=False)
class AveragePooledCurvature(PooledCurvature):
    """T_ijk = sup |mean over t of phi''(z_it) W_{i,f(j),p(j)-t} W_{i,f(k),p(k)-t}|. Smooth, so Taylor holds."""

    def total(self) -> Float[Tensor, ""]:
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

    def _remainder(self, displacement: Interval) -> Float[Tensor, "*batch filters"]:
        return self._bends(displacement).mean(-1) / 2
