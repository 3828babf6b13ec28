"""A pooled feature of a TextCNN between two linear functions of its windows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from sgbt.bounds import Activation
from sgbt.certify.cnn.windows import WindowBoxes
from sgbt.certify.lines import Box, Line, Relaxation, fitted_slopes, offsets, slope_range
from sgbt.core.shapes import Float, Int
from sgbt.models.cnn import ACTIVATIONS as FUNCTIONS


@dataclass(frozen=True, eq=False)
class LinearFeature:
    """The function sum_t slopes_t z_t + offset: `slopes` [texts, windows, filters], `offset` [texts, filters]."""

    slopes: Tensor
    offset: Tensor


@dataclass(frozen=True, eq=False)
class FeatureLines:
    """A linear function below each pooled feature and one above it."""

    below: LinearFeature
    above: LinearFeature


def mean_lines(phi: Activation, windows: WindowBoxes, relax: Relaxation) -> FeatureLines:
    """Mean pooling: the mean of the windows' lines."""
    lines, real, counts = relax(phi, windows.box), windows.real, windows.counts
    share = real / counts.unsqueeze(1).to(windows.bias.dtype)

    def averaged(line: Line) -> LinearFeature:
        return LinearFeature(line.slope * share, (line.offset * share).sum(dim=1))

    below = averaged(lines.below)
    if lines.above.slope is lines.below.slope:
        return FeatureLines(below, LinearFeature(below.slopes, (lines.above.offset * share).sum(dim=1)))
    return FeatureLines(below, averaged(lines.above))


@dataclass(frozen=True, eq=False)
class PeakLine:
    """A line in the pre-activation of one window of each filter: `window` [texts, filters], at the text `clean`."""

    window: Int[Tensor, "texts filters"]
    clean: Float[Tensor, "texts filters"]
    line: Line


@dataclass(frozen=True, eq=False)
class Peaks:
    """Max pooling: lines below and above max_s phi(z_s) in one window t of each filter.

    Window and slope may be any; they are chosen by the text alone, or by boxes of a reference, so that more substitutes
    move offsets only: downwards below and upwards above.
    """

    phi: Activation
    windows: WindowBoxes

    @cached_property
    def winner(self) -> Tensor:
        """The window that wins in the text itself, [texts, filters]."""
        clean = self.windows.clean if self.rises else FUNCTIONS[self.phi.name].function(self.windows.clean)
        return self.masked(clean).argmax(dim=1)

    @property
    def rises(self) -> bool:
        """Whether the window with the largest pre-activation has the largest value."""
        return FUNCTIONS[self.phi.name].monotone

    @cached_property
    def ceiling(self) -> Tensor:
        """The highest value that any window can reach, [texts, filters]."""
        return self._value(self.reached[0])

    @cached_property
    def floor(self) -> Tensor:
        """The highest lower end of any window's pre-activation: some window is always there."""
        return self.masked(self.windows.box.lower).amax(dim=1)

    @cached_property
    def reached(self) -> tuple[Tensor, Tensor, Tensor]:
        """The greatest that any window can reach, which window does, and the greatest that all others can."""
        lower, upper = self.windows.box.lower, self.windows.box.upper
        return self.leaders(upper if self.rises else FUNCTIONS[self.phi.name].range(lower, upper)[1])

    def leaders(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The greatest of all windows, which that is, and the greatest of all others, [texts, filters] each."""
        values = self.masked(values)
        best, window = values.max(dim=1)
        return best, window, values.scatter_(1, window.unsqueeze(1), -torch.inf).amax(dim=1)

    def masked(self, values: Tensor) -> Tensor:
        """A copy with minus infinity where there is no window."""
        return values.masked_fill(~self.windows.real, -torch.inf)

    def below(self, window: Tensor, slope: Tensor) -> PeakLine:
        """The highest line of that slope below max_s phi(z_s), which is at least max(phi(z_t), phi(L)).

        L is the highest lower end. With a slope that is not negative, max(phi(z_t), phi(L)) - slope z_t is least where
        z_t >= L, so the window's box counts from L on. For a phi that also falls, the highest least value is one
        more constant that the feature never goes below.
        """
        own, function = self.windows.box.gathered(window), FUNCTIONS[self.phi.name].function
        if not self.rises:
            offset = offsets(self.phi, slope, own.lower, own.upper)[0]
            least = FUNCTIONS[self.phi.name].range(self.windows.box.lower, self.windows.box.upper)[0]
            greatest = torch.maximum(slope * own.lower, slope * own.upper)
            offset = torch.maximum(offset, self.masked(least).amax(dim=1) - greatest)
            return PeakLine(window, own.clean, Line(slope, offset))
        low = torch.minimum(self.floor, own.upper)
        offset = offsets(self.phi, slope, low, own.upper)[0] + function(self.floor) - function(low)
        return PeakLine(window, own.clean, Line(slope, offset))

    def above(self, window: Tensor, slope: Tensor, offset: Tensor | None = None) -> PeakLine:
        """The lowest line of that slope above max_s phi(z_s); `offset` is one that serves the window itself, if known.

        Any other window s stays below phi(u_s) = slope z_t + (phi(u_s) - slope z_t), so the offset phi(u_s) - min slope
        z_t serves it: bound each window, then take the maximum. A local expansion of the winner alone would be wrong,
        because another window may win elsewhere.
        """
        own = self.windows.box.gathered(window)
        if offset is None:
            offset = offsets(self.phi, slope, own.lower, own.upper)[1]
        best, leader, second = self.reached
        others = self._value(torch.where(window == leader, second, best))
        least = torch.minimum(slope * own.lower, slope * own.upper)
        return PeakLine(window, own.clean, Line(slope, torch.maximum(offset, others - least)))

    def capped(self) -> PeakLine:
        """Above, the constant that no window can exceed."""
        return PeakLine(self.winner, self.ceiling, Line(torch.zeros_like(self.ceiling), self.ceiling))

    def relaxed(self, relax: Relaxation) -> tuple[PeakLine, PeakLine]:
        """Lines in the winner, with the slopes that a relaxation gives it and, above, its offset."""
        lines = relax(self.phi, self.windows.box.gathered(self.winner))
        return self.below(self.winner, lines.below.slope), self.above(
            self.winner, lines.above.slope, lines.above.offset
        )

    def fitted(self, reference: Box) -> tuple[PeakLine, PeakLine]:
        """Lines with windows and slopes fitted to reference boxes of all windows (CROWN).

        Below: the window with the highest lower end, and the slope fitted to its box. Above, for a phi that only rises:
        let t be the window with the highest upper end u and M the highest upper end of all others. Then max_s z_s <=
        max(z_t, M) <= y(z_t), the chord of max(., M) over [l, u], and the slope is phi's on the range of y times
        the chord's. For any other phi the slope fitted to that window.
        """
        ends = reference.lower, reference.upper
        if not self.rises:
            ends = FUNCTIONS[self.phi.name].range(*ends)
        best, (_, top, other) = self.masked(ends[0]).argmax(dim=1), self.leaders(ends[1])
        own, high = reference.gathered(best), reference.gathered(top)
        below = self.below(best, fitted_slopes(self.phi, own).below)
        if not self.rises:
            return below, self.above(top, fitted_slopes(self.phi, high).above)
        width = high.upper - high.lower
        start = torch.minimum(torch.maximum(other, high.lower), high.upper)
        share = torch.where(width > 0, (high.upper - start) / width.clamp(min=1e-300), torch.ones_like(width))
        slope = fitted_slopes(self.phi, Box(start, high.upper, start)).above * share
        return below, self.above(top, slope)

    def slopes(self) -> tuple[Tensor, Tensor]:
        """Middle and radius of what each window can pass on to its feature, [texts, windows, filters].

        A window that can win somewhere in the box passes on a share from 0 to 1 of a slope of phi, one that always wins
        the slope itself. Most can never win and pass on nothing, so slopes are found for the others alone.
        """
        box, (_, leader, second) = self.windows.box, self.reached
        if self.rises:
            upper, floor = box.upper, self.floor
        else:
            least, upper = FUNCTIONS[self.phi.name].range(box.lower, box.upper)
            floor = self.masked(least).amax(dim=1)
        places = places_of(self.masked(upper) >= floor.unsqueeze(1))
        low, high = slope_range(self.phi, box.lower.take(places), box.upper.take(places))
        low, high = low.clamp_(max=0), high.clamp_(min=0)
        ends = [torch.zeros_like(upper).put_(places, (high + sign * low) / 2) for sign in (1, -1)]
        text, feature = (second < floor).nonzero(as_tuple=True)  # no other window can win
        alone = text, leader[text, feature], feature
        low, high = slope_range(self.phi, box.lower[alone], box.upper[alone])
        ends[0][alone], ends[1][alone] = (high + low) / 2, (high - low) / 2
        return ends[0], ends[1]

    def _value(self, reached: Tensor) -> Tensor:
        """The value of a feature of which `reached` was the greatest.

        At minus infinity, where there is no window, a rising phi has its least value, which raises no bound.
        """
        return FUNCTIONS[self.phi.name].function(reached) if self.rises else reached


def places_of(mask: Tensor) -> Tensor:
    """Where a mask is true, counting all of it one after another; NumPy finds that four times as fast as torch."""
    if mask.device.type != "cpu":
        return mask.flatten().nonzero().squeeze(1)
    return torch.from_numpy(np.flatnonzero(mask.numpy()))


def reference_lines(reference: Box) -> Relaxation:
    """Lines with slopes fitted to a reference box, and exact offsets."""
    return lambda phi, box: fitted_slopes(phi, reference).on(phi, box)
