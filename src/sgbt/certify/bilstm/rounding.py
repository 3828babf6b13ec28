"""What rounding can do at one step of an LSTM: to the states as a classifier computes them, and to bounds on those.

A sum of n products, in any order, is off by at most gamma_n = n u / (1 - n u) times the sum of their magnitudes (Higham
2002, section 3.1), with u the unit roundoff. So a gate is computed as U h + W v + b + e with |e| <= gamma_n reach, and
the reach |U| 1 + |W| |v| + |b| holds for every word of the vocabulary, since no hidden state exceeds one but by
rounding. Cell and hidden state are a few products of activations, off by some units of their own magnitude; a cell
state after t steps is at most t in size.

Two things follow, and no error needs to be followed through the text:

- Boxes that are widened by these errors at every step contain the states of every allowed text as they are computed,
  in whatever order sums are taken, and those of real arithmetic as well: by induction over the steps. This is how boxes
  are made (`lstm_boxes`), so tier ibp is a bound of the margins as computed.
- A bound that carries coefficients back from the margin to the words holds for computed states if it also pays for each
  error, as for one more perturbation: its coefficient times the error at most (`lost`). The same sum pays for rounding
  in the bound itself, because computed coefficients may be taken as they are: what rounding changes in one of them is a
  share of the terms that made it, each a coefficient times a number of known size.

docs/theory/certificates.md counts the roundings of every operation, tier by tier; `units_in_bounds` is their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.certify.rounding import (
    DOUBLE,
    FLOAT64_SHARE,
    float64_allowance,
    gamma,
    largest_logit,
    logit_of_head,
    margin_of_head,
)
from sgbt.certify.verifier import lowest_margin
from sgbt.models import BiLSTM
from sgbt.threats.vocabulary import PADDING

UNITS = 64
"""How many units a hidden state may be off, and, for each step so far and two more, a cell state. With activations
within 8 units of their value: sigma(o) tanh(C) is off by 17, once for the classifier and once for the box, and by one
more when that is widened; sigma(f) c + sigma(i) tanh(g) after t steps by 10 t + 18, twice. Both are below."""


@dataclass(frozen=True, eq=False)
class LocalErrors:
    """The errors of one step of a BiLSTM; tensors over its numbers are [directions, 1, numbers].

    `gates` is how far a pre-activation may be off; `state` is how far a hidden state may be off, or a cell state for
    each step so far. `share` [texts] is what all roundings cost a bound on a text, as a share of its coefficients times
    what they multiply: of those of gates `reach`, and of those of states `weight`, which also bounds the offsets.
    """

    gates: Tensor
    state: float
    share: Tensor
    reach: Tensor
    weight: Tensor

    @staticmethod
    def of(model: BiLSTM, lengths: Tensor) -> LocalErrors:
        """The errors of a model, in the precision of its weights, on texts of these lengths."""
        unit = torch.finfo(model.head.weight.dtype).eps / 2
        hidden, vectors = model.config.hidden, model.embedding.box().magnitude
        summed = gamma(model.embedding.width + hidden + 8, unit)
        off = torch.zeros_like(vectors)
        if model.embedding.projection is not None:
            layer = model.embedding.projection
            words = model.embedding.weight[PADDING + 1 :].abs().amax(dim=0)
            off = gamma(layer.in_features + 4, unit) * (layer.weight.abs() @ words + layer.bias.abs())
        reaches = []
        for lstm in (model.forwards, model.backwards):
            weight, recurrent = lstm.get_parameter("weight_ih_l0").abs(), lstm.get_parameter("weight_hh_l0").abs()
            biases = lstm.get_parameter("bias_ih_l0").abs() + lstm.get_parameter("bias_hh_l0").abs()
            reaches.append(weight @ (vectors + off + off / summed) + biases + 2 * recurrent.sum(dim=1))
        reach = torch.stack(reaches).unsqueeze(1)
        share = units_in_bounds(lengths, hidden, model.embedding.width).to(reach) * unit
        share = torch.where(share < 0.25, 2 * share, torch.inf)  # twice: no less than gamma, and products of errors
        largest = reach.view(2, 1, 4, hidden).amax(dim=2)
        return LocalErrors(4 * summed * reach, UNITS * unit, share, reach, 2 + largest)

    def cell(self, step: int) -> float:
        """How far the cell state that a step leaves may be off; steps count from 0."""
        return (step + 2) * self.state

    def lost(self, hidden: Tensor, cell: Tensor, gates: Tensor, step: int) -> Tensor:
        """What the errors of one step can cost a bound, [directions, texts, rivals].

        The coefficients of hidden state, cell state and gates are [directions, texts, rivals, numbers]; there may be
        those of several bounds, one after the other, each on all texts.
        """
        states = torch.einsum("dbrh,dh->dbr", hidden.abs() + (step + 2) * cell.abs(), self.weight[:, 0])
        times = states.shape[1] // len(self.share)
        return (states + torch.einsum("dbrg,dg->dbr", gates.abs(), self.reach[:, 0])) * self._rate.repeat(times, 1)

    def lost_in_all(self, hidden: Tensor, cell: Tensor, gates: Tensor) -> Tensor:
        """The same for all steps, [texts, rivals]; coefficients have steps as their first axis."""
        place = torch.arange(2, len(cell) + 2, dtype=cell.dtype, device=cell.device)
        total = torch.einsum("sdbrh,dh->br", hidden.abs(), self.weight[:, 0])
        total = total + torch.einsum("sdbrh,dh,s->br", cell.abs(), self.weight[:, 0], place)
        return (total + torch.einsum("sdbrg,dg->br", gates.abs(), self.reach[:, 0])) * self._rate

    @property
    def _rate(self) -> Tensor:
        """Errors as computed by the classifier and in the bound, as shares of magnitudes, [texts, 1]."""
        return self.share.unsqueeze(1)


def units_in_bounds(steps: Tensor, hidden: int, width: int) -> Tensor:
    """How many units of roundoff one term of a bound collects, in any tier: counted in docs/theory/certificates.md.

    Offsets of planes grow with the step, and each is in a sum over steps: hence the square.
    """
    return (steps + 3) * (16 * hidden + 3 * steps + 96) + 16 * width


@float64_allowance.register
@torch.no_grad()
def _of_head(model: BiLSTM, *, longest: int) -> float:
    """What is left beside the errors in boxes and bounds: the head's, over pooled states of at most one."""
    share = FLOAT64_SHARE * (1 + margin_of_head(model.head, _states(model)))
    return share + 4 * gamma(longest + 2 * model.config.hidden + 8, DOUBLE) * largest_logit(model, longest=longest)


@largest_logit.register
def _logit(model: BiLSTM, *, longest: int) -> float:
    return logit_of_head(model.head, _states(model))


@lowest_margin.register
def _lowest(model: BiLSTM, *, longest: int) -> float:
    return -margin_of_head(model.head, _states(model))


def _states(model: BiLSTM) -> Tensor:
    """No state exceeds one in size."""
    return model.head.weight.new_ones(())
