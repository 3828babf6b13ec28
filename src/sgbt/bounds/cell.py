"""An LSTM cell in two halves: a constant affine map, and a function of five numbers whose derivatives are enclosed.

Output coordinate i of a cell depends on x = (v, h, c) only through u_i = J_i x + b_i, the four gate pre-activations
and its own cell state. Gates stand in PyTorch's order, so that weights are used as they lie: input I, forget f,
candidate g, output o, and then the state c.

The nonlinear half is
psi(I, f, g, o, c) = sigma(o) tanh(C) with C = sigma(f) c + sigma(I) tanh(g). Then
    grad C = (sigma'(I) tanh g, sigma'(f) c, sigma(I) tanh'(g), 0, sigma(f)),
    hess C = II sigma''(I) tanh g, Ig sigma'(I) tanh'(g), gg sigma(I) tanh''(g), ff sigma''(f) c, fc sigma'(f),
    grad psi = sigma(o) tanh'(C) grad C, and sigma'(o) tanh(C) for o,
    hess psi = sigma(o) [tanh''(C) gradC gradC' + tanh'(C) hessC], sigma'(o) tanh'(C) gradC for o with another,
               and sigma''(o) tanh(C) for o with o.
Every factor has an exact range over the box (`activations`), and interval products and sums of exact ranges enclose
the rest; C itself is exact, because its four arguments vary independently. All five arguments being points, so is the
result. Since the cell's Hessian is J' K J, the six cases of the paper's Proposition 2 are this one formula.

Terms of one depth are computed as one stacked product: the cost is the number of tensor operations, not their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import SIGMOID, TANH
from sgbt.bounds.interval import Interval, extremes, greater
from sgbt.core.errors import BoundError
from sgbt.core.shapes import Float

Direction = Literal["forward", "backward"]


@dataclass(frozen=True, eq=False)
class LSTMGates:
    """The gate weights [Theta U] of shape (4, d, d0 + d) and biases (4, d) of one cell, with gradients attached."""

    weights: Float[Tensor, "4 d joined"]
    bias: Float[Tensor, "4 d"]
    input_size: int

    @staticmethod
    def of(cell: nn.LSTMCell | nn.LSTM, *, direction: Direction = "forward", layer: int = 0) -> LSTMGates:
        """The gates of a cell, or of one direction of one layer of an LSTM. Biases, where absent, are zero."""
        suffix = "" if isinstance(cell, nn.LSTMCell) else _suffix(cell, direction, layer)
        if isinstance(cell, nn.LSTMCell) and (direction != "forward" or layer != 0):
            raise BoundError(expected="direction 'forward' and layer 0 of an LSTMCell", got=f"{direction!r}, {layer}")
        theta: Tensor = getattr(cell, "weight_ih" + suffix)
        hidden: Tensor = getattr(cell, "weight_hh" + suffix)
        size = hidden.shape[1]
        if cell.bias:
            bias = getattr(cell, "bias_ih" + suffix) + getattr(cell, "bias_hh" + suffix)
        else:
            bias = theta.new_zeros(4 * size)
        weights = torch.cat((theta, hidden), dim=1)
        return LSTMGates(weights.view(4, size, -1), bias.view(4, size), theta.shape[1])

    @property
    def hidden_size(self) -> int:
        """d, the number of outputs."""
        return self.weights.shape[1]

    @property
    def inputs(self) -> int:
        """d0 + 2 d, the number of coordinates of x = (v, h, c)."""
        return self.weights.shape[2] + self.hidden_size

    def reach(self, inputs: Interval, hidden: Interval) -> GateRanges:
        """Everything that needs |Theta| and |U|, in one pass over them: exact gate ranges (Prop. 5) and row sums."""
        box = Interval.cat((inputs, hidden))
        absolute = self.weights.abs()
        centre = self.weights @ box.midpoint + self.bias
        spread, sums = (absolute @ torch.stack((box.radius, torch.ones_like(box.lower)), dim=-1)).unbind(-1)
        row_sums = torch.cat((sums, torch.ones_like(sums[:1])))
        return GateRanges(Interval(centre - spread, centre + spread), row_sums)

    def push(self, displacement: Interval) -> Interval:
        """How far u moves when x moves by any displacement in the box (..., d0 + 2 d): shape (..., 5, d)."""
        words_and_hidden = self.weights.shape[2]
        gates = displacement[..., :words_and_hidden].affine(self.weights.flatten(0, 1))
        state = displacement[..., words_and_hidden:]
        both = Interval.cat((gates, state), dim=-1)
        shape = (*both.shape[:-1], 5, self.hidden_size)
        return Interval(both.lower.reshape(shape), both.upper.reshape(shape))

    def jacobian(self, columns: slice = slice(None)) -> Float[Tensor, "5 d columns"]:
        """J written out, shape (5, d, columns): the gate weights, and the unit vector that picks c_i."""
        size, words_and_hidden = self.hidden_size, self.weights.shape[2]
        state = torch.eye(size, dtype=self.weights.dtype, device=self.weights.device)
        gates = torch.nn.functional.pad(self.weights, (0, size))
        picks = torch.nn.functional.pad(state, (words_and_hidden, 0))
        return torch.cat((gates, picks[None]))[:, :, columns]

    def column(self, i: int, j: int) -> Float[Tensor, " 5"]:
        """J_i's column for input coordinate j: five numbers."""
        words_and_hidden = self.weights.shape[2]
        picked = torch.zeros(5, dtype=self.weights.dtype, device=self.weights.device)
        if j >= words_and_hidden:
            picked[4] = float(j - words_and_hidden == i)
            return picked
        return torch.cat((self.weights[:, i, j], picked[4:]))


@dataclass(frozen=True, eq=False)
class GateRanges:
    """The range of each gate's pre-activation, shape (4, d), and the row sums r_a = sum_j |J_aj|, shape (5, d)."""

    gates: Interval
    row_sums: Float[Tensor, "5 d"]


def _suffix(lstm: nn.LSTM, direction: Direction, layer: int) -> str:
    """How nn.LSTM names the parameters of one direction of one layer."""
    if lstm.proj_size:
        raise BoundError(
            expected="an LSTM without projection", got=f"proj_size={lstm.proj_size}", remedy="use proj_size=0"
        )
    if direction not in ("forward", "backward") or (direction == "backward" and not lstm.bidirectional):
        offered = "'forward' or 'backward'" if lstm.bidirectional else "'forward'"
        raise BoundError(expected=f"direction {offered} for this LSTM", got=repr(direction))
    if not 0 <= layer < lstm.num_layers:
        raise BoundError(expected=f"a layer from 0 to {lstm.num_layers - 1}", got=str(layer))
    return f"_l{layer}" + ("_reverse" if direction == "backward" else "")


INPUT, FORGET, CANDIDATE, OUTPUT, STATE = range(5)
"""The five arguments, in the order of `LSTMGates`."""

PAIRS = tuple((a, b) for a in range(5) for b in range(a, 5))
"""The fifteen entries of a symmetric 5 x 5 matrix, row by row from the diagonal."""


@dataclass(frozen=True, eq=False)
class CoreDerivatives:
    """Enclosures over a box of grad psi, shape (5, d), and of hess psi, shape (15, d) in the order of `PAIRS`."""

    gradient: Interval
    hessian: Interval


def core_derivatives(gates: Interval, state: Interval) -> CoreDerivatives:
    """Enclose the derivatives of psi for gate ranges of shape (4, d) and cell states of shape (d,)."""
    sigmoids = Interval.cat((gates[:CANDIDATE], gates[OUTPUT:]))  # I, f, o
    candidate = gates[CANDIDATE:OUTPUT]
    ranges = (SIGMOID.ranges(sigmoids, orders=3), TANH.ranges(candidate, orders=3), state[None, None])
    factors = torch.cat([_ends(box) for box in ranges], dim=1)
    named = "s0I s0f s0o s1I s1f s1o s2I s2f s2o t0 t1 t2 c"
    # the two terms of C, then grad C for I, f, g, then hess C for II, Ig, gg, ff
    first = _times(
        _rows(factors, named, "s0f s0I s1I s1f s0I s2I s1I s0I s2f"),
        _rows(factors, named, "c   t0  t0  c   t1  t0  t1  t2  c  "),
    )
    new_state = first[:, :1] + first[:, 1:2]
    tanh = _ends(TANH.ranges(Interval(new_state[0], new_state[1]), orders=3))
    grad_c = torch.cat((first[:, 2:5], _rows(factors, named, "s0f")), dim=1)
    hess_c = torch.cat((first[:, 5:], _rows(factors, named, "s1f")), dim=1)

    # grad C times its transpose; the five entries where hess C is not zero stand first, and squares are not negative
    left, right = "I I g f f I I f g c", "I g g f c f c g c c"
    outer = _times(_rows(grad_c, "I f g c", left), _rows(grad_c, "I f g c", right))
    outer = greater(outer, _floor(left, right, outer.dtype, outer.device))
    outputs = _rows(factors, named, "s1o s2o")
    inner = _times(
        torch.cat((outer, hess_c, grad_c, outputs), dim=1),
        _rows(tanh, "0 1 2", "2 " * 10 + "1 " * 9 + "0 0"),
    )
    by_tanh_2, by_tanh_1, by_tanh_0 = inner[:, :10], inner[:, 10:19], inner[:, 19:]
    bent = torch.cat((by_tanh_2[:, :5] + by_tanh_1[:, :5], by_tanh_2[:, 5:]), dim=1)
    slopes = by_tanh_1[:, 5:]
    gated = _times(torch.cat((bent, slopes, slopes), dim=1), _rows(factors, named, "s0o " * 14 + "s1o " * 4))

    everything = torch.cat((gated, by_tanh_0), dim=1)
    names = "II Ig gg ff fc If Ic fg gc cc I f g c Io fo go oc o oo"
    gradient = _rows(everything, names, "I f g o c")
    hessian = _rows(everything, names, "II If Ig Io Ic ff fg fo fc gg go gc oo oc cc")
    return CoreDerivatives(Interval(gradient[0], gradient[1]), Interval(hessian[0], hessian[1]))


def _ends(box: Interval) -> Float[Tensor, "2 rows d"]:
    """A box (orders, rows, d) as one tensor (2, orders x rows, d), lower ends first: what stacked products work on."""
    return torch.stack((box.lower, box.upper)).flatten(1, 2)


def _times(left: Float[Tensor, "2 rows d"], right: Float[Tensor, "2 rows d"]) -> Float[Tensor, "2 rows d"]:
    """The interval product, row by row: extreme at one of four corners."""
    return torch.stack(extremes((left[:, None] * right[None]).flatten(0, 1), dim=0))


def _rows(ends: Float[Tensor, "2 rows d"], names: str, wanted: str) -> Float[Tensor, "2 wanted d"]:
    """The wanted rows of a stack, by name."""
    return ends.index_select(1, _positions(names, wanted, ends.device))


@lru_cache(maxsize=64)
def _positions(names: str, wanted: str, device: torch.device) -> Tensor:
    order = names.split()
    return torch.tensor([order.index(name) for name in wanted.split()], device=device)


@lru_cache(maxsize=8)
def _floor(left: str, right: str, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The least value a product may have: zero where both factors are one and the same, none elsewhere."""
    least = [0.0 if a == b else -torch.inf for a, b in zip(left.split(), right.split(), strict=True)]
    return torch.tensor(least, dtype=dtype, device=device)[:, None]
