"""A pooled feature of a TextCNN between two linear functions of its windows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sgbt.bounds import Activation
from sgbt.certify.lines import Box, Line, Relaxation
from sgbt.certify.window_boxes import Windows
from sgbt.models.activations import ACTIVATIONS as MODEL_ACTIVATIONS


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


def mean_lines(phi: Activation, windows: Windows, relax: Relaxation) -> FeatureLines:
    """Mean pooling: the mean of the windows' lines."""
    lines, real, counts = relax(phi, windows.box), windows.real, windows.counts

    def averaged(line: Line) -> LinearFeature:
        return LinearFeature(line.slope * real / counts.unsqueeze(1), (line.offset * real).sum(dim=1) / counts)

    return FeatureLines(averaged(lines.below), averaged(lines.above))


def fixed_max_lines(phi: Activation, windows: Windows, relax: Relaxation) -> FeatureLines:
    """Max pooling, expanded at the window that wins in the text itself.

    Let t be that window and a the slope there. Below, max_s phi(z_s) >= phi(z_t), whichever window wins. Above, window
    t itself stays below its own line, and any other window s below phi(u_s) = (a z_t) + (phi(u_s) - a z_t), so the
    offset phi(u_s) - min a z_t serves it: bound each window, then take the maximum. A local expansion of the winner
    alone would be wrong, because another window may win elsewhere.

    Window and slope depend on the text only, not on the substitutes: so a larger set never gives a higher bound.
    """
    clean = windows.box.clean if _rises(phi) else phi(windows.box.clean)
    winner = clean.masked_fill(~windows.real, -torch.inf).argmax(dim=1, keepdim=True)
    own = _at(windows.box, winner)
    lines = relax(phi, own)
    others = _highest(phi, windows).scatter(1, winner, -torch.inf).amax(dim=1)
    slope = lines.above.slope
    least = torch.minimum(slope * own.lower, slope * own.upper)
    offset = torch.maximum(lines.above.offset, others - least)
    return FeatureLines(_lone(windows, winner, lines.below), _lone(windows, winner, Line(slope, offset)))


def fitted_max_lines(phi: Activation, windows: Windows, relax: Relaxation) -> FeatureLines:
    """Max pooling, with windows and slopes fitted to the box.

    Below: the line of the window with the highest lower end. Above, for a phi that only rises: let t be the window with
    the highest upper end u and M the highest upper end of all others. Then max_s z_s <= max(z_t, M) <= y(z_t), the
    chord of max(., M) over [l, u], and phi(y) lies below phi's line on the range of y. Where M <= l, y is z_t
    itself; where M >= u, it is the constant M. For any other phi the constant max_s sup phi(z_s), unless one window
    always wins.
    """
    box, real = windows.box, windows.real
    low = box.lower.masked_fill(~real, -torch.inf)
    if not _rises(phi):
        low = MODEL_ACTIVATIONS[phi.name].range(box.lower, box.upper)[0].masked_fill(~real, -torch.inf)
    best = low.argmax(dim=1, keepdim=True)
    below = _lone(windows, best, relax(phi, _at(box, best)).below)
    if not _rises(phi):
        return FeatureLines(below, _above_any(phi, windows, relax))
    high = box.upper.masked_fill(~real, -torch.inf)
    top = high.argmax(dim=1, keepdim=True)
    own = _at(box, top)
    other = high.scatter(1, top, -torch.inf).amax(dim=1)
    width = own.upper - own.lower
    share = ((own.upper - other) / torch.where(width > 0, width, torch.ones_like(width))).clamp(0, 1)
    share = torch.where(width > 0, share, torch.ones_like(width))  # y = floor + share (z - l), at least M and z
    floor = torch.maximum(own.lower, torch.minimum(other, own.upper))
    y = Box.around(floor + share * (own.clean - own.lower), floor, own.upper)
    line = relax(phi, y).above
    slope = line.slope * share
    offset = line.offset + line.slope * (floor - share * own.lower)
    return FeatureLines(below, _lone(windows, top, Line(slope, offset)))


def constant_above(lines: FeatureLines, phi: Activation, windows: Windows) -> FeatureLines:
    """The same lines below, and above the constant that no window can exceed."""
    ceiling = _highest(phi, windows).amax(dim=1)
    return replace(lines, above=LinearFeature(torch.zeros_like(lines.above.slopes), ceiling))


def _above_any(phi: Activation, windows: Windows, relax: Relaxation) -> LinearFeature:
    high = _highest(phi, windows)
    top = high.argmax(dim=1, keepdim=True)
    ceiling, other = high.amax(dim=1), high.scatter(1, top, -torch.inf).amax(dim=1)
    own = _at(windows.box, top)
    alone = phi.range(own.interval).lower >= other
    line = relax(phi, own).above
    chosen = Line(
        torch.where(alone, line.slope, torch.zeros_like(line.slope)), torch.where(alone, line.offset, ceiling)
    )
    return _lone(windows, top, chosen)


def _rises(phi: Activation) -> bool:
    return MODEL_ACTIVATIONS[phi.name].monotone


def _highest(phi: Activation, windows: Windows) -> Tensor:
    """The greatest value of phi at each real window; minus infinity where there is no window."""
    box, model_phi = windows.box, MODEL_ACTIVATIONS[phi.name]
    return model_phi.range(box.lower, box.upper)[1].masked_fill(~windows.real, -torch.inf)


def _at(box: Box, window: Tensor) -> Box:
    """The box of one window per filter: [texts, filters]."""
    lower, upper, clean = (end.gather(1, window).squeeze(1) for end in (box.lower, box.upper, box.clean))
    return Box(lower, upper, clean)


def _lone(windows: Windows, window: Tensor, line: Line) -> LinearFeature:
    """A line in one window of each filter."""
    slopes = torch.zeros_like(windows.box.clean).scatter(1, window, line.slope.unsqueeze(1))
    return LinearFeature(slopes, line.offset)
