"""The second-order remainders of an LSTM cell on its box: what is left when its first-order expansion is taken away.

With d for the distance of the replaced text's value from the text's own, the cell's two stages are
    C = sigma(f) c + sigma(i) tanh(g),   h = sigma(o) tanh(C).
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.bounds import SIGMOID, TANH, Activation, Interval
from sgbt.bounds.cell import PAIRS, core_derivatives
from sgbt.bounds.ibp import Pair
from sgbt.certify.bilstm.boxes import Steps
from sgbt.certify.lines import Box, offsets

CHUNK = 1 << 13


def taylor_remainders(steps: Steps) -> tuple[Pair, Pair]:
    """The ranges of r^C and r^h, from the exact one-dimensional remainders rho of sigma and tanh.

    Since sigma(f') = sigma(f) + D_f with D_f = sigma'(f) df + rho_f, multiplying out gives, exactly,
        r^C = c rho_f + D_f dc + tanh(g) rho_i + sigma(i) rho_g + D_i D_g,
        r^h = tanh(C) rho_o + sigma(o) rho_C + D_o D_C.
    Each rho and D has its exact range over the box; sums and products of ranges enclose the rest.
    """
    i, f, g, o = _gates(steps.gates)
    c, after = steps.before, steps.after
    rho = {name: _remainder(phi, box) for name, phi, box in zip("ifgoC", _KINDS, (i, f, g, o, after), strict=True)}
    moved = {name: _moved(phi, box) for name, phi, box in zip("ifgoC", _KINDS, (i, f, g, o, after), strict=True)}
    shift = (c.lower - c.clean, c.upper - c.clean)
    cell = _sum(
        _scaled(rho["f"], c.clean),
        _product(moved["f"], shift),
        _scaled(rho["i"], g.clean.tanh()),
        _scaled(rho["g"], i.clean.sigmoid()),
        _product(moved["i"], moved["g"]),
    )
    hidden = _sum(
        _scaled(rho["o"], after.clean.tanh()),
        _scaled(rho["C"], o.clean.sigmoid()),
        _product(moved["o"], moved["C"]),
    )
    return cell, hidden


def core_remainders(steps: Steps) -> tuple[Pair, Pair]:
    """The ranges of half du' K du for K = hess C and for K = hess psi, both enclosed over the box (Definition 2).

    psi is h as a function of the five numbers u = (i, f, g, o, c); its Hessian's enclosure is `bounds.core`. This is
    the paper's curvature bound in its literal use, kept with its signs.
    """
    i, f, g, o = _gates(steps.gates)
    c = steps.before
    five = [i, f, g, o, c]
    away = [(box.lower - box.clean, box.upper - box.clean) for box in five]
    di, df, dg, _, dc = away
    cell = _sum(
        _product(_half(_product(_range(SIGMOID, f, 2), (c.lower, c.upper))), _square(df)),
        _product(_range(SIGMOID, f, 1), _product(df, dc)),
        _product(_half(_product(_range(SIGMOID, i, 2), _range(TANH, g, 0))), _square(di)),
        _product(_product(_range(SIGMOID, i, 1), _range(TANH, g, 1)), _product(di, dg)),
        _product(_half(_product(_range(SIGMOID, i, 0), _range(TANH, g, 2))), _square(dg)),
    )
    flat_away = [(low.flatten(), high.flatten()) for low, high in away]
    lower = torch.stack([box.lower.flatten() for box in five])
    upper = torch.stack([box.upper.flatten() for box in five])
    off = 4 * _off(c) * (1 + torch.maximum(-lower[4], upper[4])) ** 3  # of entries of at most (1 + |c|)^2, by tanh of C
    parts = []
    for start in range(0, lower.shape[1], CHUNK):
        part = slice(start, start + CHUNK)
        hessian = core_derivatives(
            Interval(lower[:4, part], upper[:4, part]), Interval(lower[4, part], upper[4, part])
        ).hessian
        terms = []
        for place, (a, b) in enumerate(PAIRS):
            bend = _widened((hessian.lower[place], hessian.upper[place]), off[part])
            left, right = ((end[0][part], end[1][part]) for end in (flat_away[a], flat_away[b]))
            terms.append(_product(_half(bend), _square(left)) if a == b else _product(bend, _product(left, right)))
        parts.append(_sum(*terms))
    shape = c.clean.shape
    hidden = (
        torch.cat([low for low, _ in parts]).view(shape),
        torch.cat([high for _, high in parts]).view(shape),
    )
    return cell, hidden


_KINDS = (SIGMOID, SIGMOID, TANH, SIGMOID, TANH)


def _gates(box: Box) -> tuple[Box, Box, Box, Box]:
    parts = zip(*(end.chunk(4, dim=-1) for end in (box.lower, box.upper, box.clean)), strict=True)
    i, f, g, o = (Box(*part) for part in parts)
    return i, f, g, o


def _remainder(phi: Activation, box: Box) -> Pair:
    slope = phi(box.clean, order=1)
    least, greatest = offsets(phi, slope, box.lower, box.upper)
    base = _value(phi, box.clean) - slope * box.clean
    return (least - base).clamp(max=0), (greatest - base).clamp(min=0)


def _moved(phi: Activation, box: Box) -> Pair:
    base = _value(phi, box.clean)
    return _value(phi, box.lower) - base, _value(phi, box.upper) - base


def _value(phi: Activation, z: Tensor) -> Tensor:
    return z.tanh() if phi is TANH else z.sigmoid()


def _range(phi: Activation, box: Box, order: int) -> Pair:
    """The range of a derivative of the activation over a box, and what rounding may have lost of it."""
    found = phi.range(box.interval, order=order)
    return _widened((found.lower, found.upper), _off(box))


DERIVATIVE_UNITS = 32
"""How many units, of one, a computed derivative of sigma or tanh may be off: some products of two activations."""


def _off(box: Box) -> float:
    return DERIVATIVE_UNITS * torch.finfo(box.clean.dtype).eps / 2


def _widened(pair: Pair, by: Tensor | float) -> Pair:
    return pair[0] - by, pair[1] + by


def _half(pair: Pair) -> Pair:
    return pair[0] / 2, pair[1] / 2


def _square(pair: Pair) -> Pair:
    """The range of d squared, for a range of d that holds 0."""
    return torch.zeros_like(pair[0]), torch.maximum(-pair[0], pair[1]).square()


def _scaled(pair: Pair, factor: Tensor) -> Pair:
    one, other = pair[0] * factor, pair[1] * factor
    return torch.minimum(one, other), torch.maximum(one, other)


def _product(left: Pair, right: Pair) -> Pair:
    corners = (left[0] * right[0], left[0] * right[1], left[1] * right[0], left[1] * right[1])
    low = torch.minimum(torch.minimum(corners[0], corners[1]), torch.minimum(corners[2], corners[3]))
    high = torch.maximum(torch.maximum(corners[0], corners[1]), torch.maximum(corners[2], corners[3]))
    return low, high


def _sum(*pairs: Pair) -> Pair:
    low, high = pairs[0]
    for pair in pairs[1:]:
        low, high = low + pair[0], high + pair[1]
    return low, high
