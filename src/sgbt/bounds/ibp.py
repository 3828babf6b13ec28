"""Interval bound propagation over finite sets of words (Jia et al. 2019; Huang et al. 2019).

A word enters a network through an affine map, and the words allowed at a place are finitely many known vectors. So the
box of a pre-activation is taken over the images of the words themselves, after the affine map: much tighter than a box
around the vectors. From there on, boxes go through the network coordinate by coordinate.

These kernels work on pairs of tensors (lower, upper) rather than on `Interval`: they run thousands of times in a
training step, and the result is made an `Interval` once, at the end, where it is checked.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.shapes import Bool, Float, Int

Pair = tuple[Tensor, Tensor]


def extremes_over_choices(
    values: Float[Tensor, "words outputs"],
    choices: Int[Tensor, "sets choices"],
    allowed: Bool[Tensor, "sets choices"],
    *,
    epsilon: float = 1.0,
) -> Pair:
    """The least and greatest of `values[choices]` over the allowed choices: [sets, outputs] each.

    `values` is [words, outputs]; `choices` and `allowed` are [sets, choices], with the original word first. `epsilon`
    below one draws the box towards the original word: at zero it is that point. This is how a training schedule grows
    the box; a certificate uses one.
    """
    taken = F.embedding(choices, values)
    barred = ~allowed.unsqueeze(-1)
    lower = taken.masked_fill(barred, torch.inf).amin(dim=1)
    upper = taken.masked_fill(barred, -torch.inf).amax(dim=1)
    if epsilon == 1.0:
        return lower, upper
    centre = taken[:, 0]
    return centre + epsilon * (lower - centre), centre + epsilon * (upper - centre)


def through_windows(
    lowers: list[Float[Tensor, "sets filters"]],
    uppers: list[Float[Tensor, "sets filters"]],
    bias: Float[Tensor, " filters"],
    places: Int[Tensor, "texts words"],
) -> Pair:
    """The box of z_t = b + sum_l W_l v_{t+l}: ends add up, because the words of a window vary independently.

    `lowers[l]` and `uppers[l]` are [sets, filters], the ends of W_l v over each set of words; `places` is [texts,
    words], which set stands where. The result is [texts, windows, filters] twice.
    """
    windows = places.shape[1] - len(lowers) + 1
    spans = [places[:, offset : offset + windows] for offset in range(len(lowers))]
    lower = bias + sum(F.embedding(span, end) for span, end in zip(spans, lowers, strict=True))
    upper = bias + sum(F.embedding(span, end) for span, end in zip(spans, uppers, strict=True))
    return lower, upper


def through_linear(box: Pair, weight: Tensor, bias: Tensor | None = None) -> Pair:
    """The exact box of an affine map over a box; `weight` is [outputs, inputs] or [batch, outputs, inputs]."""
    middle, radius = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    if weight.ndim == 2:
        centre, spread = F.linear(middle, weight, bias), F.linear(radius, weight.abs())
    else:
        centre = torch.einsum("...i,...oi->...o", middle, weight)
        spread = torch.einsum("...i,...oi->...o", radius, weight.abs())
        centre = centre if bias is None else centre + bias
    return centre - spread, centre + spread


def scaled_by_gate(gate: Pair, value: Pair) -> Pair:
    """The box of g x for a gate 0 <= g <= 1: for x >= 0 the product grows with the gate, for x < 0 it falls."""
    lower = torch.where(value[0] >= 0, gate[0] * value[0], gate[1] * value[0])
    upper = torch.where(value[1] >= 0, gate[1] * value[1], gate[0] * value[1])
    return lower, upper


def through_lstm(entering: Pair, recurrent: Float[Tensor, "directions gates hidden"]) -> Pair:
    """The boxes of the hidden states of LSTMs, from the boxes of what words add to their gates.

    `entering` is [steps, directions, texts, 4 hidden] twice, gates in torch's order i, f, g, o, biases included;
    `recurrent` is [directions, 4 hidden, hidden]. Directions are independent LSTMs that run side by side. The result
    is [steps, directions, texts, hidden] twice. Both states start at zero.
    """
    _, directions, texts, gates = entering[0].shape
    size = gates // 4
    weight, magnitude = recurrent.transpose(1, 2), recurrent.abs().transpose(1, 2)
    zero = entering[0].new_zeros(directions, texts, size)
    hidden, cell = (zero, zero), (zero, zero)
    lowers, uppers = [], []
    for below, above in zip(entering[0].unbind(), entering[1].unbind(), strict=True):
        middle = torch.bmm((hidden[0] + hidden[1]) / 2, weight)
        radius = torch.bmm((hidden[1] - hidden[0]) / 2, magnitude)
        low = (below + (middle - radius)).split((2 * size, size, size), dim=-1)
        high = (above + (middle + radius)).split((2 * size, size, size), dim=-1)
        opened = (low[0].sigmoid().chunk(2, dim=-1), high[0].sigmoid().chunk(2, dim=-1))
        candidate, output = (low[1].tanh(), high[1].tanh()), (low[2].sigmoid(), high[2].sigmoid())
        added = scaled_by_gate((opened[0][0], opened[1][0]), candidate)
        kept = scaled_by_gate((opened[0][1], opened[1][1]), cell)
        cell = (kept[0] + added[0], kept[1] + added[1])
        hidden = scaled_by_gate(output, (cell[0].tanh(), cell[1].tanh()))
        lowers.append(hidden[0])
        uppers.append(hidden[1])
    return torch.stack(lowers), torch.stack(uppers)


def worst_logits(
    features: Pair,
    weight: Float[Tensor, "classes features"],
    bias: Float[Tensor, " classes"],
    labels: Int[Tensor, " texts"],
) -> Float[Tensor, "texts classes"]:
    """For each text, an upper bound of (logit k - logit of the label) over the box of features: [texts, classes].

    Differences of rows of the head are taken first, so the bound is exact over the box. It is zero at the label itself;
    as logits, its cross-entropy is the worst-case loss, and a row without positive entries is a proof.
    """
    own = weight[labels]  # [texts, features]
    middle, radius = (features[0] + features[1]) / 2, (features[1] - features[0]) / 2
    differences = weight.unsqueeze(0) - own.unsqueeze(1)
    upper = torch.einsum("tkf,tf->tk", differences, middle) + torch.einsum("tkf,tf->tk", differences.abs(), radius)
    upper = upper + bias.unsqueeze(0) - bias[labels].unsqueeze(1)
    return upper.scatter(1, labels.unsqueeze(1), 0.0)
