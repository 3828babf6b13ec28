"""How the margin responds to every gate and state of a BiLSTM: at the text itself, and over its whole box."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds import SIGMOID, TANH
from sgbt.bounds.ibp import Pair
from sgbt.certify.bilstm.boxes import Steps
from sgbt.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Adjoints:
    """Derivatives of the margins at the texts themselves, each [steps, directions, texts, rivals, numbers].

    `hidden` (p) and `cell` (q) are total derivatives by h_t and c_t, `later` is the part of q that flows through the
    next step and not through h_t, and `gates` (g) the derivative by the pre-activations.
    """

    hidden: Float[Tensor, "steps directions texts rivals hidden"]
    cell: Float[Tensor, "steps directions texts rivals hidden"]
    later: Float[Tensor, "steps directions texts rivals hidden"]
    gates: Float[Tensor, "steps directions texts rivals gates"]


def clean_adjoints(steps: Steps, injected: Float[Tensor, "steps directions texts rivals hidden"]) -> Adjoints:
    """One ordinary backward pass; `injected` is the direct derivative by each hidden state, zero at padding."""
    clean = steps.gates.clean.unsqueeze(3)
    i, f, g, o = clean.chunk(4, dim=-1)
    before, after = steps.before.clean.unsqueeze(3), steps.after.clean.unsqueeze(3)
    si, sf, so, tg, tc = i.sigmoid(), f.sigmoid(), o.sigmoid(), g.tanh(), after.tanh()
    through_hidden = so * TANH(after, order=1)
    by_output = tc * SIGMOID(o, order=1)
    by_cell = torch.stack(  # derivatives of C by i, f, g
        (tg * SIGMOID(i, order=1), before * SIGMOID(f, order=1), si * TANH(g, order=1)), dim=-2
    )
    hidden = torch.zeros_like(injected)
    cell, later = torch.zeros_like(injected), torch.zeros_like(injected)
    gates = injected.new_zeros(*injected.shape[:-1], 4 * steps.size)
    flowing, kept = torch.zeros_like(injected[0]), torch.zeros_like(injected[0])
    for step in reversed(range(len(injected))):
        p = injected[step] + flowing
        q = kept + p * through_hidden[step]
        by_three = (q.unsqueeze(-2) * by_cell[step]).flatten(-2)
        gate = torch.cat((by_three, p * by_output[step]), dim=-1)
        hidden[step], cell[step], later[step], gates[step] = p, q, kept, gate
        kept = q * sf[step]
        flowing = torch.einsum("dbrg,dgh->dbrh", gate, steps.recurrent)
    return Adjoints(hidden, cell, later, gates)


def interval_adjoints(steps: Steps, injected: Pair) -> tuple[Pair, Tensor]:
    """Boxes of slopes G with margin(x') - margin(x) = sum_t G_t . move_t: [steps, directions, texts, rivals, 4 hidden].

    Beside them what rounding may cost, [texts, rivals].

    Difference by difference: sigma(f') c' - sigma(f) c = (c s_f) df + sigma(f') dc, where s_f is a value of sigma' in
    the box by the mean value theorem; likewise for the other two products. So each step is a linear map whose
    coefficients lie in known intervals, and the chain of them is propagated backwards in interval arithmetic.
    `injected` are the ends of the margin's direct derivative by each hidden state.
    """
    i, f, g, o = (steps.gates.interval[..., part] for part in _quarters(steps.size))
    clean = steps.gates.clean.chunk(4, dim=-1)
    slope_c = SIGMOID.range(o) * TANH.range(steps.after.interval, order=1)
    slope_o = SIGMOID.range(o, order=1) * steps.after.clean.tanh()
    slope_i = SIGMOID.range(i, order=1) * clean[2].tanh()
    slope_f = SIGMOID.range(f, order=1) * steps.before.clean
    slope_g = SIGMOID.range(i) * TANH.range(g, order=1)
    forget = SIGMOID.range(f)
    by_cell = [
        torch.stack([getattr(slope, end) for slope in (slope_i, slope_f, slope_g)], -2).unsqueeze(3) for end in _ENDS
    ]
    matrix = steps.recurrent
    lows, highs = [], []
    lost = torch.zeros_like(injected[0][0, ..., 0])
    flowing = kept = (torch.zeros_like(injected[0][0]), torch.zeros_like(injected[0][0]))
    for step in reversed(range(len(injected[0]))):
        p = (injected[0][step] + flowing[0], injected[1][step] + flowing[1])
        through = _times(p, _at(slope_c.lower, slope_c.upper, step))
        q = (kept[0] + through[0], kept[1] + through[1])
        three = _times((q[0].unsqueeze(-2), q[1].unsqueeze(-2)), (by_cell[0][step], by_cell[1][step]))
        last = _times(p, _at(slope_o.lower, slope_o.upper, step))
        gate = (torch.cat((three[0].flatten(-2), last[0]), dim=-1), torch.cat((three[1].flatten(-2), last[1]), dim=-1))
        lows.append(gate[0])
        highs.append(gate[1])
        lost = lost + steps.errors.lost(_magnitude(p), _magnitude(q), _magnitude(gate), step)
        kept = _times(q, _at(forget.lower, forget.upper, step))
        middle = torch.einsum("dbrg,dgh->dbrh", (gate[0] + gate[1]) / 2, matrix)
        radius = torch.einsum("dbrg,dgh->dbrh", (gate[1] - gate[0]) / 2, matrix.abs())
        flowing = (middle - radius, middle + radius)
    return (torch.stack(lows[::-1]), torch.stack(highs[::-1])), lost.sum(dim=0)


_ENDS = ("lower", "upper")


def _quarters(size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, 4 * size, size)]


def _at(low: Tensor, high: Tensor, step: int) -> Pair:
    return low[step].unsqueeze(2), high[step].unsqueeze(2)


def _times(left: Pair, right: Pair) -> Pair:
    corners = torch.stack((left[0] * right[0], left[0] * right[1], left[1] * right[0], left[1] * right[1]))
    low, high = torch.aminmax(corners, dim=0)
    return low, high


def _magnitude(pair: Pair) -> Tensor:
    return torch.maximum(-pair[0], pair[1])
