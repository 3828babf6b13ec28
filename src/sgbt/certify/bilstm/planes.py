"""Planes below and above the products of an LSTM cell, carried back from the margin to the words (CROWN for LSTMs).

A product x y over a box is at least each of McCormick's planes x_l y + y_l x - x_l y_l and x_u y + y_u x - x_u y_u,
and at most x_u y + y_l x - x_u y_l and x_l y + y_u x - x_l y_u. Its factors sigma(z), tanh(z) are then replaced by
lines in z, the one below where they count positively and the one above where they count negatively.

Slopes are fitted to a reference box around the text that does not depend on its substitutes; offsets are exact on the
true box: x y - a x - b y takes its extremes over a box at the corners. So a larger set of substitutes moves offsets
only, and never gives a higher bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from sgbt.bounds import SIGMOID, TANH, Activation
from sgbt.certify.bilstm.boxes import Steps
from sgbt.certify.lines import TIE, Box, Line, Lines, fitted_slopes
from sgbt.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Plane:
    """The function first x + second y + offset."""

    first: Tensor
    second: Tensor
    offset: Tensor

    def at(self, step: int) -> Plane:
        """The plane of one step."""
        return Plane(self.first[step], self.second[step], self.offset[step])


_NAMES = ("first", "second", "offset")


@dataclass(frozen=True, eq=False)
class Planes:
    """A plane below a function of two numbers and one above it."""

    below: Plane
    above: Plane

    def at(self, step: int) -> Planes:
        """The planes of one step."""
        return Planes(self.below.at(step), self.above.at(step))

    @staticmethod
    def beside(parts: Sequence[Planes]) -> Planes:
        """Planes of several batches of texts as one; texts are the last axis but one."""
        sides = []
        for side in ("below", "above"):
            planes = [getattr(part, side) for part in parts]
            sides.append(Plane(*(torch.cat([getattr(plane, name) for plane in planes], dim=-2) for name in _NAMES)))
        return Planes(*sides)

    def chosen(self, weight: Tensor) -> Plane:
        """For weights [directions, texts, rivals, hidden]: the plane below where positive, else the one above."""
        positive, below, above = weight >= 0, self.below, self.above
        return Plane(
            torch.where(positive, below.first.unsqueeze(2), above.first.unsqueeze(2)),
            torch.where(positive, below.second.unsqueeze(2), above.second.unsqueeze(2)),
            torch.where(positive, below.offset.unsqueeze(2), above.offset.unsqueeze(2)),
        )


@dataclass(frozen=True, eq=False)
class Factor:
    """One factor of a product: values between `low` and `high` on the true box, `around` on the reference box.

    `lines` in z have the slopes of the reference box and the offsets of the true one.
    """

    low: Tensor
    high: Tensor
    around: Box
    lines: Lines

    @staticmethod
    def of(phi: Activation | None, box: Box, reference: Box) -> Factor:
        """phi(z) for z in a box; None is z itself."""
        if phi is None:
            itself = Line(torch.ones_like(box.clean), torch.zeros_like(box.clean))
            return Factor(box.lower, box.upper, reference, Lines(itself, itself))
        function = torch.tanh if phi is TANH else torch.sigmoid
        around = Box(function(reference.lower), function(reference.upper), function(reference.clean))
        lines = fitted_slopes(phi, reference).on(phi, box)
        return Factor(function(box.lower), function(box.upper), around, lines)


def product_planes(x: Factor, y: Factor) -> Planes:
    """Planes in the arguments of both factors; of McCormick's two, the one that is closer at the text itself."""
    return Planes(_side(x, y, below=True), _side(x, y, below=False))


def _side(x: Factor, y: Factor, *, below: bool) -> Plane:
    """The plane a x + b y + offset on one side of x y, in the arguments of x and y.

    McCormick's plane through the corner (x0, y0) of the reference box has a = y0 and b = x0, and differs from the
    product at the text itself by (x - x0) (y - y0).
    """
    ends = (y.around.lower, y.around.upper) if below else (y.around.upper, y.around.lower)
    corners = tuple(zip((x.around.lower, x.around.upper), ends, strict=True))
    away = [((x.around.clean - at_x) * (y.around.clean - at_y)).abs() for at_x, at_y in corners]
    first = away[0] <= away[1] + TIE
    a, b = (torch.where(first, corners[0][axis], corners[1][axis]) for axis in (1, 0))
    values = [at_x * at_y - a * at_x - b * at_y for at_x in (x.low, x.high) for at_y in (y.low, y.high)]
    pick = torch.minimum if below else torch.maximum
    offset = pick(pick(values[0], values[1]), pick(values[2], values[3]))
    by_x, from_x = _through(a, x.lines, below=below)
    by_y, from_y = _through(b, y.lines, below=below)
    return Plane(by_x, by_y, offset + from_x + from_y)


def _through(weight: Tensor, lines: Lines, *, below: bool) -> tuple[Tensor, Tensor]:
    lower = (weight >= 0) if below else (weight < 0)
    slope = torch.where(lower, lines.below.slope, lines.above.slope)
    offset = torch.where(lower, lines.below.offset, lines.above.offset)
    return weight * slope, weight * offset


def output_planes(gates: Box, after: Box, around: Steps) -> Planes:
    """h = sigma(o) tanh(C) between planes in (o, C)."""
    return product_planes(_gate_factor(3, gates, around), Factor.of(TANH, after, around.after))


def kept_planes(gates: Box, before: Box, around: Steps) -> Planes:
    """sigma(f) c between planes in (f, c)."""
    return product_planes(_gate_factor(1, gates, around), Factor.of(None, before, around.before))


def added_planes(gates: Box, around: Steps) -> Planes:
    """sigma(i) tanh(g) between planes in (i, g)."""
    return product_planes(_gate_factor(0, gates, around), _gate_factor(2, gates, around))


def _gate_factor(number: int, gates: Box, around: Steps) -> Factor:
    return Factor.of(TANH if number == 2 else SIGMOID, _gate(gates, number), _gate(around.gates, number))


def _gate(gates: Box, number: int) -> Box:
    lower, upper, clean = (end.chunk(4, dim=-1)[number] for end in (gates.lower, gates.upper, gates.clean))
    return Box(lower, upper, clean)


def carried_planes(
    steps: Steps, references: Sequence[Steps], injected: Float[Tensor, "steps directions texts rivals hidden"]
) -> tuple[Tensor, Tensor]:
    """Lower bounds of injected . h that are linear in what words add to the gates, one or more by each reference.

    `injected` is [steps, directions, texts, rivals, hidden]: all texts as often as the first reference serves, then as
    often for the next. Returns offsets [texts, rivals] and coefficients [steps, directions, texts, rivals, 4 hidden]
    in that order.
    From the last step to the first, h is replaced by a plane in (o, C), C by planes in (f, c) and (i, g), on the side
    that the sign of its coefficient asks for; the gates' recurrent part turns into coefficients of the previous h.
    """
    times = injected.shape[2] // (len(references) * steps.entering.shape[2])
    output, kept, added = (
        Planes.beside([planes for around in references for planes in [made(around)] * times])
        for made in (
            partial(output_planes, steps.gates, steps.after),
            partial(kept_planes, steps.gates, steps.before),
            partial(added_planes, steps.gates),
        )
    )
    p_flow, q = torch.zeros_like(injected[0]), torch.zeros_like(injected[0])
    offset = torch.zeros_like(injected[0, 0, :, :, 0])
    coefficients = []
    for step in reversed(range(len(injected))):
        p = injected[step] + p_flow
        plane = output.at(step).chosen(p)
        offset = offset + (p * plane.offset).sum(dim=(0, 3))
        by_output = p * plane.first
        q = q + p * plane.second
        hold, add = kept.at(step).chosen(q), added.at(step).chosen(q)
        offset = offset + (q * (hold.offset + add.offset)).sum(dim=(0, 3))
        gate = torch.cat((q * add.first, q * hold.first, q * add.second, by_output), dim=-1)
        coefficients.append(gate)
        offset = offset - steps.errors.lost(p, q, gate, step).sum(dim=0)
        q = q * hold.second
        p_flow = torch.einsum("dbrg,dgh->dbrh", gate, steps.recurrent)
    return offset, torch.stack(coefficients[::-1])
