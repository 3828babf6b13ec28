"""The affine half of an LSTM cell: the constant map from its input to the five numbers that each output sees.

Output coordinate i of a cell depends on x = (v, h, c) only through u_i = J_i x + b_i, the four gate pre-activations
and its own cell state. Gates stand in PyTorch's order, so that weights are used as they lie: input I, forget f,
candidate g, output o, and then the state c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError

Direction = Literal["forward", "backward"]


@dataclass(frozen=True, eq=False)
class LSTMGates:
    """The gate weights [Theta U] of shape (4, d, d0 + d) and biases (4, d) of one cell, with gradients attached."""

    weights: Tensor
    bias: Tensor
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

    def reach(self, inputs: Interval, hidden: Interval) -> Reach:
        """Everything that needs |Theta| and |U|, in one pass over them: exact gate ranges (Prop. 5) and row sums."""
        box = Interval.cat((inputs, hidden))
        absolute = self.weights.abs()
        centre = self.weights @ box.midpoint + self.bias
        spread, sums = (absolute @ torch.stack((box.radius, torch.ones_like(box.lower)), dim=-1)).unbind(-1)
        row_sums = torch.cat((sums, torch.ones_like(sums[:1])))
        return Reach(Interval(centre - spread, centre + spread), row_sums)

    def push(self, displacement: Interval) -> Interval:
        """How far u moves when x moves by any displacement in the box (..., d0 + 2 d): shape (..., 5, d)."""
        words_and_hidden = self.weights.shape[2]
        gates = displacement[..., :words_and_hidden].affine(self.weights.flatten(0, 1))
        state = displacement[..., words_and_hidden:]
        both = Interval.cat((gates, state), dim=-1)
        shape = (*both.shape[:-1], 5, self.hidden_size)
        return Interval(both.lower.reshape(shape), both.upper.reshape(shape))

    def jacobian(self, columns: slice = slice(None)) -> Tensor:
        """J written out, shape (5, d, columns): the gate weights, and the unit vector that picks c_i."""
        size, words_and_hidden = self.hidden_size, self.weights.shape[2]
        state = torch.eye(size, dtype=self.weights.dtype, device=self.weights.device)
        gates = torch.nn.functional.pad(self.weights, (0, size))
        picks = torch.nn.functional.pad(state, (words_and_hidden, 0))
        return torch.cat((gates, picks[None]))[:, :, columns]

    def column(self, i: int, j: int) -> Tensor:
        """J_i's column for input coordinate j: five numbers."""
        words_and_hidden = self.weights.shape[2]
        picked = torch.zeros(5, dtype=self.weights.dtype, device=self.weights.device)
        if j >= words_and_hidden:
            picked[4] = float(j - words_and_hidden == i)
            return picked
        return torch.cat((self.weights[:, i, j], picked[4:]))


@dataclass(frozen=True, eq=False)
class Reach:
    """The range of each gate's pre-activation, shape (4, d), and the row sums r_a = sum_j |J_aj|, shape (5, d)."""

    gates: Interval
    row_sums: Tensor


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
