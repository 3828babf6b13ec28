"""Our LSTM bounds once more, slowly: scalar intervals in Python floats, one output and one entry at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds import Interval


@dataclass(frozen=True)
class Span:
    lo: float
    hi: float

    def __add__(self, other: Span) -> Span:
        return Span(self.lo + other.lo, self.hi + other.hi)

    def __mul__(self, other: Span) -> Span:
        corners = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Span(min(corners), max(corners))

    def squared(self) -> Span:
        ends = [self.lo**2, self.hi**2]
        return Span(0.0 if self.lo <= 0 <= self.hi else min(ends), max(ends))

    @property
    def mag(self) -> float:
        return max(abs(self.lo), abs(self.hi))


def sigma(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def over(function, turns, z: Span) -> Span:
    values = [function(z.lo), function(z.hi), *(function(t) for t in turns if z.lo < t < z.hi)]
    return Span(min(values), max(values))


def sigmas(z: Span) -> tuple[Span, Span, Span]:
    turn = math.log(2 + math.sqrt(3))
    first = lambda t: sigma(t) * (1 - sigma(t))  # noqa: E731
    second = lambda t: first(t) * (1 - 2 * sigma(t))  # noqa: E731
    return over(sigma, (), z), over(first, (0.0,), z), over(second, (-turn, turn), z)


def tanhs(z: Span) -> tuple[Span, Span, Span]:
    turn = math.atanh(1 / math.sqrt(3))
    first = lambda t: 1 - math.tanh(t) ** 2  # noqa: E731
    second = lambda t: -2 * math.tanh(t) * first(t)  # noqa: E731
    return over(math.tanh, (), z), over(first, (0.0,), z), over(second, (-turn, turn), z)


def core_spans(gates: Interval, state: Interval, i: int) -> tuple[list[Span], list[list[Span]]]:
    """grad psi and hess psi of output i, in the order I, f, g, o, c."""
    ends = torch.stack((gates.lower, gates.upper)).detach()
    I, f, g, o = (Span(*ends[:, a, i].tolist()) for a in range(4))  # noqa: E741
    c = Span(float(state.lower[i]), float(state.upper[i]))
    (sI, sI1, sI2), (sf, sf1, sf2), (so, so1, so2) = sigmas(I), sigmas(f), sigmas(o)
    tg, tg1, tg2 = tanhs(g)
    T, T1, T2 = tanhs(sf * c + sI * tg)
    zero = Span(0.0, 0.0)
    grad_c = [sI1 * tg, sf1 * c, sI * tg1, zero, sf]
    hess_c = [[zero] * 5 for _ in range(5)]
    hess_c[0][0], hess_c[1][1], hess_c[2][2] = sI2 * tg, sf2 * c, sI * tg2
    hess_c[0][2] = hess_c[2][0] = sI1 * tg1
    hess_c[1][4] = hess_c[4][1] = sf1
    gradient = [so * (T1 * grad_c[a]) if a != 3 else so1 * T for a in range(5)]
    hessian = [[zero] * 5 for _ in range(5)]
    for a in range(5):
        for b in range(5):
            if a == b == 3:
                hessian[a][b] = so2 * T
            elif 3 in (a, b):
                hessian[a][b] = so1 * (T1 * grad_c[b if a == 3 else a])
            else:
                outer = grad_c[a].squared() if a == b else grad_c[a] * grad_c[b]
                hessian[a][b] = so * (T2 * outer + T1 * hess_c[a][b])
    return gradient, hessian


def tight_entry(hessian: list[list[Span]], left: Tensor, right: Tensor) -> float:
    """sup |left' K right| over symmetric K in the enclosure."""
    centre, spread = 0.0, 0.0
    for a in range(5):
        for b in range(a, 5):
            product = float(left[a] * right[b]) + (float(left[b] * right[a]) if a != b else 0.0)
            span = hessian[a][b]
            centre += (span.lo + span.hi) / 2 * product
            spread += (span.hi - span.lo) / 2 * abs(product)
    return abs(centre) + spread
