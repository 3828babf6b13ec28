"""Growth and curvature bounds of an LSTM cell (paper Definition 1 and 2, Proposition 2 corrected).

The cell is psi after an affine map: gradient and Hessian of output i are J_i' grad psi and J_i' (hess psi) J_i, with
J_i constant (`gates`) and psi a function of five numbers (`core`). So the bound is stored as a handful of numbers per
output, and everything else is a contraction of those with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

from sgbt.bounds.cell import PAIRS, Direction, LSTMGates, core_derivatives
from sgbt.bounds.curvature import CurvatureBound
from sgbt.bounds.domains import Domain, hidden_state_box, is_proven, reachable_cell_state, settle
from sgbt.bounds.growth import GrowthBound, require_affordable
from sgbt.bounds.interval import Interval
from sgbt.core.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class Pairs:
    """`PAIRS` as tensors, made once per device: both indices, and how often the pair occurs in a symmetric matrix."""

    left: Int[Tensor, " 15"]
    right: Int[Tensor, " 15"]
    times: Int[Tensor, "15 1"]

    @staticmethod
    @lru_cache(maxsize=8)
    def on(device: torch.device) -> Pairs:
        """The pairs on a device."""
        left, right = torch.tensor(PAIRS, device=device).unbind(1)
        return Pairs(left, right, torch.where(left == right, 1, 2)[:, None])


@dataclass(frozen=True, eq=False)
class LSTMCellBounds:
    """Both bounds of one cell (v, h, c) -> h' over one domain; inputs stand in the paper's order v, h, c."""

    growth: LSTMGrowth
    curvature: LSTMCurvature

    @staticmethod
    def of(
        cell: nn.LSTMCell | nn.LSTM,
        *,
        inputs: Domain,
        hidden: Domain | None = None,
        cell_state: Domain | None = None,
        steps: int | None = None,
        direction: Direction = "forward",
        layer: int = 0,
    ) -> LSTMCellBounds:
        """Bound a cell, or one direction of one layer of an LSTM, over inputs x hidden x cell_state.

        Each domain is a box of the right size or of a shape that expands to it. Left out, `hidden` is |h| <= 1 and
        `cell_state` is what c can reach in so many `steps`, or ever (`domains.reachable_cell_state`): both hold for
        every text of that length whose words lie in `inputs`.

        Every parameter of the cell has a gradient from both totals: weights through J, and weights and biases through
        the gate ranges, because sigma(o), tanh(C) and the like grow at the ends of their ranges even where sigma' has
        reached its peak. They grow ever more slowly: over a box so wide that every gate saturates, biases hardly matter
        to the bound, and narrower boxes (`substitution_box`, an `ObservedRange`) make a better regulariser.
        """
        gates = LSTMGates.of(cell, direction=direction, layer=layer)
        size, like = gates.hidden_size, gates.weights
        words = settle(inputs, (gates.input_size,), like=like, where="inputs")
        states = hidden_state_box(size) if hidden is None else hidden
        reach = gates.reach(words, settle(states, (size,), like=like, where="hidden"))
        memory = reachable_cell_state(reach.gates, steps=steps) if cell_state is None else cell_state
        core = core_derivatives(reach.gates, settle(memory, (size,), like=like, where="cell_state"))
        proven = is_proven(inputs, states, memory)
        return LSTMCellBounds(
            LSTMGrowth(gates, reach.row_sums, core.gradient, proven),
            LSTMCurvature(gates, reach.row_sums, core.hessian, proven),
        )


@dataclass(frozen=True, eq=False)
class LSTMGrowth(GrowthBound):
    """M_ij, tight: sup |sum_a p_a J_aj| over the enclosure p of grad psi; factorised: sum_a sup|p_a| |J_aj|."""

    gates: LSTMGates
    row_sums: Float[Tensor, "5 d"]
    core: Interval
    proven: bool

    @property
    def shape(self) -> tuple[int, int]:
        """d outputs and d0 + 2 d inputs."""
        return self.gates.hidden_size, self.gates.inputs

    @property
    def blocks(self) -> LSTMGrowthBlocks:
        """The tight matrix by the kind of its inputs."""
        return LSTMGrowthBlocks(self)

    def total(self) -> Float[Tensor, ""]:
        """L_GBM = sum_i m_i . r_i, with m = sup |grad psi| and r the row sums of |J|: O(d (d0 + d))."""
        return (self.core.magnitude * self.row_sums).sum()

    def _dense(self, *, factorised: bool) -> Float[Tensor, "d inputs"]:
        return self._columns(slice(None), factorised=factorised)

    def _columns(self, columns: slice, *, factorised: bool) -> Float[Tensor, "d columns"]:
        jacobian = self.gates.jacobian(columns)
        if factorised:
            return torch.einsum("ai,aij->ij", self.core.magnitude, jacobian.abs())
        centre = torch.einsum("ai,aij->ij", self.core.midpoint, jacobian)
        return centre.abs() + torch.einsum("ai,aij->ij", self.core.radius, jacobian.abs())

    def _entry(self, i: int, j: int) -> Tensor:
        column, core = self.gates.column(i, j), self.core[:, i]
        return (core.midpoint @ column).abs() + core.radius @ column.abs()

    def _apply(self, magnitude: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch d"]:
        return (self.core.magnitude * self.gates.push(Interval.symmetric(magnitude)).upper).sum(-2)

    def _like(self) -> Tensor:
        return self.gates.weights


@dataclass(frozen=True, eq=False)
class LSTMCurvature(CurvatureBound):
    """T_ijk, from the enclosure K of hess psi, the two input columns J_j and J_k and their symmetric products.

    Tight: sup over K of |J_j' K J_k| = |J_j' Kmid J_k| + sum over a <= b of Krad_ab |J_aj J_bk + [a != b] J_bj J_ak|,
    because the fifteen entries of K vary independently in the enclosure. Factorised: |J_j|' sup|K| |J_k|.
    """

    gates: LSTMGates
    row_sums: Float[Tensor, "5 d"]
    core: Interval
    proven: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """d outputs, and d0 + 2 d inputs twice."""
        return self.gates.hidden_size, self.gates.inputs, self.gates.inputs

    @property
    def blocks(self) -> LSTMCurvatureBlocks:
        """The tight tensor by the kinds of its two inputs: the six cases of Proposition 2."""
        return LSTMCurvatureBlocks(self)

    def total(self) -> Float[Tensor, ""]:
        """L_SGBT = sum_i r_i' sup|K_i| r_i, with r the row sums of |J|: O(d (d0 + d))."""
        return self._quadratic_form(self.row_sums).sum()

    def _quadratic_form(self, u: Float[Tensor, "*batch 5 d"]) -> Float[Tensor, "*batch d"]:
        """u' sup|K| u for u >= 0 of shape (..., 5, d): one number per output."""
        pairs = Pairs.on(u.device)
        products = u.index_select(-2, pairs.left) * u.index_select(-2, pairs.right)
        return (self.core.magnitude * products * pairs.times).sum(-2)

    def _dense(self, *, factorised: bool) -> Float[Tensor, "d inputs inputs"]:
        everything = slice(None)
        if not factorised:
            return self._block(everything, everything)
        jacobian = self.gates.jacobian().abs()
        return torch.einsum("aij,abi,bik->ijk", jacobian, symmetric(self.core.magnitude), jacobian)

    def _block(self, rows: slice, columns: slice) -> Float[Tensor, "d rows columns"]:
        left, right = self.gates.jacobian(rows), self.gates.jacobian(columns)
        tight = torch.einsum("aij,abi,bik->ijk", left, symmetric(self.core.midpoint), right).abs()
        for radius, (a, b) in zip(self.core.radius, PAIRS, strict=True):
            product = left[a, :, :, None] * right[b, :, None, :]
            if a != b:
                product = product + left[b, :, :, None] * right[a, :, None, :]
            tight = tight + radius[:, None, None] * product.abs()
        return tight

    def _entry(self, i: int, j: int, k: int) -> Tensor:
        left, right, core = self.gates.column(i, j), self.gates.column(i, k), self.core[:, i]
        products = torch.stack([left[a] * right[b] + (left[b] * right[a] if a != b else 0) for a, b in PAIRS])
        return (core.midpoint @ products).abs() + core.radius @ products.abs()

    def _remainder(self, displacement: Interval) -> Float[Tensor, "*batch d"]:
        return self._quadratic_form(self.gates.push(displacement).magnitude) / 2

    def _like(self) -> Tensor:
        return self.gates.weights


def symmetric(entries: Float[Tensor, "15 d"]) -> Float[Tensor, "5 5 d"]:
    """The fifteen entries (15, d) in the order of `PAIRS` as symmetric matrices (5, 5, d)."""
    positions = [[PAIRS.index((min(a, b), max(a, b))) for b in range(5)] for a in range(5)]
    return entries[torch.tensor(positions, device=entries.device)]


@dataclass(frozen=True, eq=False)
class LSTMGrowthBlocks:
    """The tight growth matrix split by input: v the word, h the hidden state, c the cell state (diagonal)."""

    bound: LSTMGrowth

    @property
    def v(self) -> Float[Tensor, "d d0"]:
        """|d h'_i / d v_j|, shape (d, d0)."""
        return self.bound._columns(word_columns(self.bound.gates), factorised=False)

    @property
    def h(self) -> Float[Tensor, "d d"]:
        """|d h'_i / d h_j|, shape (d, d)."""
        return self.bound._columns(hidden_columns(self.bound.gates), factorised=False)

    @property
    def c(self) -> Float[Tensor, "d d"]:
        """|d h'_i / d c_j|, shape (d, d)."""
        return self.bound._columns(state_columns(self.bound.gates), factorised=False)


@dataclass(frozen=True, eq=False)
class LSTMCurvatureBlocks:
    """The tight curvature tensor split by its two inputs, each block computed when it is asked for."""

    bound: LSTMCurvature

    def _between(self, rows: slice, columns: slice) -> Tensor:
        gates = self.bound.gates
        shape = (gates.hidden_size, *(len(range(gates.inputs)[part]) for part in (rows, columns)))
        require_affordable(shape, gates.weights, where="LSTMCurvature.blocks")
        return self.bound._block(rows, columns)

    @property
    def vv(self) -> Float[Tensor, "d d0 d0"]:
        """Word with word, shape (d, d0, d0)."""
        return self._between(word_columns(self.bound.gates), word_columns(self.bound.gates))

    @property
    def vh(self) -> Float[Tensor, "d d0 d"]:
        """Word with hidden state, shape (d, d0, d)."""
        return self._between(word_columns(self.bound.gates), hidden_columns(self.bound.gates))

    @property
    def vc(self) -> Float[Tensor, "d d0 d"]:
        """Word with cell state, shape (d, d0, d)."""
        return self._between(word_columns(self.bound.gates), state_columns(self.bound.gates))

    @property
    def hh(self) -> Float[Tensor, "d d d"]:
        """Hidden state with hidden state, shape (d, d, d)."""
        return self._between(hidden_columns(self.bound.gates), hidden_columns(self.bound.gates))

    @property
    def hc(self) -> Float[Tensor, "d d d"]:
        """Hidden state with cell state, shape (d, d, d)."""
        return self._between(hidden_columns(self.bound.gates), state_columns(self.bound.gates))

    @property
    def cc(self) -> Float[Tensor, "d d d"]:
        """Cell state with cell state, shape (d, d, d)."""
        return self._between(state_columns(self.bound.gates), state_columns(self.bound.gates))


def word_columns(gates: LSTMGates) -> slice:
    """J_v of the paper: the coordinates of the word."""
    return slice(0, gates.input_size)


def hidden_columns(gates: LSTMGates) -> slice:
    """J_h of the paper: the coordinates of the hidden state."""
    return slice(gates.input_size, gates.weights.shape[2])


def state_columns(gates: LSTMGates) -> slice:
    """J_c of the paper: the coordinates of the cell state."""
    return slice(gates.weights.shape[2], gates.inputs)
