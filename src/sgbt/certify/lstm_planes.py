"""Planes below and above the products of an LSTM cell, carried back from the margin to the words (CROWN for LSTMs).

A product x y over a box is at least each of McCormick's planes x_l y + y_l x - x_l y_l and x_u y + y_u x - x_u y_u,
and at most x_u y + y_l x - x_u y_l and x_l y + y_u x - x_l y_u. Its factors sigma(z), tanh(z) are then replaced by
lines in z, the one below where they count positively and the one above where they count negatively.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds import SIGMOID, TANH, Activation
from sgbt.certify.lines import TIE, Box, Line, Lines, planes
from sgbt.certify.lstm_boxes import Steps


@dataclass(frozen=True, eq=False)
class Plane:
    """The function first x + second y + offset."""

    first: Tensor
    second: Tensor
    offset: Tensor

    def at(self, step: int) -> Plane:
        """The plane of one step."""
        return Plane(self.first[step], self.second[step], self.offset[step])


@dataclass(frozen=True, eq=False)
class Planes:
    """A plane below a function of two numbers and one above it."""

    below: Plane
    above: Plane

    def at(self, step: int) -> Planes:
        """The planes of one step."""
        return Planes(self.below.at(step), self.above.at(step))

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
    """One factor of a product: its values between `low` and `high`, `clean` at the text itself, and lines in z."""

    low: Tensor
    high: Tensor
    clean: Tensor
    lines: Lines

    @staticmethod
    def of(phi: Activation | None, box: Box) -> Factor:
        """phi(z) for z in a box; None is z itself."""
        if phi is None:
            itself = Line(torch.ones_like(box.clean), torch.zeros_like(box.clean))
            return Factor(box.lower, box.upper, box.clean, Lines(itself, itself))
        low, high, clean = ((z.tanh() if phi is TANH else z.sigmoid()) for z in (box.lower, box.upper, box.clean))
        return Factor(low, high, clean, planes(phi, box))


def product_planes(x: Factor, y: Factor) -> Planes:
    """Planes in the arguments of both factors; of McCormick's two, the one that is closer at the text itself."""
    below = _closer(_mccormick(x.low, y.low, x, y), _mccormick(x.high, y.high, x, y), x.clean, y.clean, highest=True)
    above = _closer(_mccormick(x.high, y.low, x, y), _mccormick(x.low, y.high, x, y), x.clean, y.clean, highest=False)
    return Planes(_composed(below, x, y, below=True), _composed(above, x, y, below=False))


def _mccormick(at_x: Tensor, at_y: Tensor, x: Factor, y: Factor) -> Plane:
    """at_y x + at_x y - at_x at_y."""
    return Plane(at_y, at_x, -at_x * at_y)


def _closer(one: Plane, other: Plane, x: Tensor, y: Tensor, *, highest: bool) -> Plane:
    values = [plane.first * x + plane.second * y + plane.offset for plane in (one, other)]
    first = values[0] >= values[1] - TIE if highest else values[0] <= values[1] + TIE
    return Plane(
        torch.where(first, one.first, other.first),
        torch.where(first, one.second, other.second),
        torch.where(first, one.offset, other.offset),
    )


def _composed(plane: Plane, x: Factor, y: Factor, *, below: bool) -> Plane:
    """The plane in the factors' arguments: each factor replaced by its line on the side that keeps the bound."""
    first, from_x = _through(plane.first, x.lines, below=below)
    second, from_y = _through(plane.second, y.lines, below=below)
    return Plane(first, second, plane.offset + from_x + from_y)


def _through(weight: Tensor, lines: Lines, *, below: bool) -> tuple[Tensor, Tensor]:
    lower = (weight >= 0) if below else (weight < 0)
    slope = torch.where(lower, lines.below.slope, lines.above.slope)
    offset = torch.where(lower, lines.below.offset, lines.above.offset)
    return weight * slope, weight * offset


def output_planes(gates: Box, after: Box) -> Planes:
    """h = sigma(o) tanh(C) between planes in (o, C)."""
    return product_planes(Factor.of(SIGMOID, _gate(gates, 3)), Factor.of(TANH, after))


def kept_planes(gates: Box, before: Box) -> Planes:
    """sigma(f) c between planes in (f, c)."""
    return product_planes(Factor.of(SIGMOID, _gate(gates, 1)), Factor.of(None, before))


def added_planes(gates: Box) -> Planes:
    """sigma(i) tanh(g) between planes in (i, g)."""
    return product_planes(Factor.of(SIGMOID, _gate(gates, 0)), Factor.of(TANH, _gate(gates, 2)))


def _gate(gates: Box, number: int) -> Box:
    lower, upper, clean = (end.chunk(4, dim=-1)[number] for end in (gates.lower, gates.upper, gates.clean))
    return Box(lower, upper, clean)


def carried_planes(steps: Steps, injected: Tensor) -> tuple[Tensor, Tensor]:
    """A linear lower bound of the margins (without the head's bias) in what words add to the gates.

    Returns its offset [texts, rivals] and its coefficients [steps, directions, texts, rivals, 4 hidden]. From the last
    step to the first, h is replaced by a plane in (o, C), C by planes in (f, c) and (i, g), on the side that the sign
    of its coefficient asks for; the gates' recurrent part turns into coefficients of the previous h.
    """
    output, kept = output_planes(steps.gates, steps.after), kept_planes(steps.gates, steps.before)
    added = added_planes(steps.gates)
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
        q = q * hold.second
        p_flow = torch.einsum("dbrg,dgh->dbrh", gate, steps.recurrent)
    return offset, torch.stack(coefficients[::-1])
