"""Lower bounds of the margins of a BiLSTM over the paths of a lattice: one box of states for each vertex.

Every word that an edge may write takes the box of states at its source one step on, as over substitutions (`cell_box`),
and boxes join where paths meet (ARC, Zhang et al. 2021). A vertex is a gap of the text with what was used of the
budgets and how many words were read, so boxes join only what has used as much. The direction that begins with the last
word goes through the lattice from its end. Both are put together by budgets used and number of words in all: what one
direction spends, the other one spends too. Boxes are widened at every step by what rounding may do (`bilstm.rounding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.bounds.ibp import Pair
from sgbt.certify.bilstm.boxes import cell_box
from sgbt.certify.bilstm.rounding import LocalErrors
from sgbt.certify.edits.enumerated import exact_where_few
from sgbt.certify.edits.margins import Floats, Ints, least_margins, rivals_of
from sgbt.certify.edits.unrolled import UnrolledLayer, unrolled, unrolled_backwards
from sgbt.models import BiLSTM
from sgbt.threats.lattice import Lattice

Spent = tuple[int, int]
"""The state of budgets and the number of words of a whole text."""


@least_margins.register
@torch.no_grad()
def _of_bilstm(model: BiLSTM, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    rivals = rivals_of(labels, model.config.classes)
    errors = LocalErrors.of(model, torch.zeros(1))
    found = []
    for lattice, label, others in zip(lattices, labels.tolist(), rivals, strict=True):
        steps = unrolled(lattice, max_length)
        weight = model.head.weight[label] - model.head.weight[torch.from_numpy(others)]
        bias = (model.head.bias[label] - model.head.bias[torch.from_numpy(others)]).numpy()
        ahead, back = (
            Direction(model, lattice, number, half, errors) for number, half in enumerate(weight.chunk(2, 1))
        )
        there: dict[Spent, Floats] = ahead.least(steps)
        again: dict[Spent, Floats] = {}
        for walk in unrolled_backwards(lattice, steps, max_length):
            for spent, margin in back.least(walk).items():
                again[spent] = np.minimum(again.get(spent, margin), margin)
        together = [there[spent] + again.get(spent, -np.inf) for spent in there]
        bound: Floats = np.min(together, axis=0) + bias
        found.append(exact_where_few(model, steps, lattice.sets, label, bound))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class _States:
    """Boxes at vertices, and what pooling knows of the states so far: under mean pooling the least sum of what they
    add to the margins, [vertices, rivals], under max pooling ends of the greatest, [vertices, hidden]."""

    hidden: Pair
    cell: Pair
    pooled: Pair

    def taken(self, rows: Tensor) -> _States:
        """Those of some vertices."""
        parts = ((low[rows], high[rows]) for low, high in (self.hidden, self.cell, self.pooled))
        return _States(*parts)

    def joined(self, target: Ints, size: int) -> _States:
        """Boxes around all that reaches a vertex; `target` is sorted and reaches each of them."""
        begin = np.searchsorted(target, np.arange(size))
        parts = (
            tuple(
                torch.from_numpy(end.reduceat(side.numpy(), begin, axis=0))
                for end, side in zip((np.minimum, np.maximum), pair, strict=True)
            )
            for pair in (self.hidden, self.cell, self.pooled)
        )
        return _States(*parts)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a BiLSTM over one lattice; `head` is the half of the label's row minus each rival's."""

    model: BiLSTM
    lattice: Lattice
    number: int
    head: Tensor
    errors: LocalErrors

    @cached_property
    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of words, of hidden states, and biases."""
        lstm = self.model.backwards if self.number else self.model.forwards
        entering, recurrent, one, two = (
            lstm.get_parameter(f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        return entering, recurrent, one + two

    @cached_property
    def _gates(self) -> tuple[dict[int, int], Pair]:
        """The row of every set, and the ends of what its words add to the gates."""
        sets = self.lattice.sets
        numbers = np.unique(self.lattice.choices[self.lattice.choices >= 0]).tolist()
        listed = [np.array(sets[number], dtype=np.int64) for number in numbers]
        entering, _, bias = self._weights
        if not listed:
            return {}, (bias[None], bias[None])
        ids, row = np.unique(np.concatenate(listed), return_inverse=True)
        images = F.linear(self.model.embedding(self.model.embedding.encode(torch.from_numpy(ids))), entering, bias)
        begin = np.cumsum([0, *map(len, listed)])[:-1]
        flat = images.numpy()[row]
        low, high = (torch.from_numpy(end.reduceat(flat, begin, axis=0)) for end in (np.minimum, np.maximum))
        return {number: place for place, number in enumerate(numbers)}, (low, high)

    def least(self, steps: Sequence[UnrolledLayer]) -> dict[Spent, Floats]:
        """What this direction adds to the margins at least, for texts that spend as much, [rivals]."""
        found: dict[Spent, Floats] = {}
        states = self._nothing(steps[0].arrivals)
        places, gates = self._gates
        for words, step in enumerate(steps):
            begin, end = step.spread
            states = states.taken(torch.from_numpy(begin)).joined(end, step.departures)
            for place, used in zip(step.ends.tolist(), step.used.tolist(), strict=True):
                margin = self._margin(states.taken(torch.tensor([place])), words)
                found[used, words] = np.minimum(found.get((used, words), margin), margin)
            if not len(step.source):
                break
            row = torch.tensor([places[number] for number in step.choices.tolist()])
            read = self._read(states, torch.from_numpy(step.source), (gates[0][row], gates[1][row]), words)
            states = read.joined(step.target, steps[words + 1].arrivals)
        return found

    def _nothing(self, vertices: int) -> _States:
        zero = self.head.new_zeros(vertices, self.model.config.hidden)
        if self.model.config.pooling == "max":
            below = torch.full_like(zero, -torch.inf)
            return _States((zero, zero), (zero, zero), (below, below))
        sums = self.head.new_zeros(vertices, len(self.head))
        return _States((zero, zero), (zero, zero), (sums, sums))

    def _read(self, states: _States, source: Tensor, words: Pair, step: int) -> _States:
        """One word more: of states at `source`, a word between these ends."""
        _, recurrent, _ = self._weights
        low, high = states.hidden
        middle = (low + high) / 2 @ recurrent.T
        radius = (high - low) / 2 @ recurrent.abs().T + self.errors.gates[self.number]
        gates = (middle - radius)[source] + words[0], (middle + radius)[source] + words[1]
        cell, hidden = cell_box(gates, (states.cell[0][source], states.cell[1][source]))
        off, state = self.errors.cell(step), self.errors.state
        cell, hidden = (cell[0] - off, cell[1] + off), (hidden[0] - state, hidden[1] + state)
        pooled = states.pooled[0][source], states.pooled[1][source]
        if self.model.config.pooling == "mean":
            added = pooled[0] + self._against(hidden)
            pooled = added, added
        elif self.model.config.pooling == "max":
            pooled = torch.maximum(pooled[0], hidden[0]), torch.maximum(pooled[1], hidden[1])
        return _States(hidden, cell, pooled)

    def _against(self, box: Pair) -> Tensor:
        return box[0] @ self.head.clamp(min=0).T + box[1] @ self.head.clamp(max=0).T

    def _margin(self, states: _States, words: int) -> Floats:
        """What a text that ends here adds; one without words is read as one zero vector."""
        if not words:
            bias = self._weights[2][None]
            states = self._read(states, torch.zeros(1, dtype=torch.int64), (bias, bias), 0)
        if self.model.config.pooling == "mean":
            return (states.pooled[0][0] / max(words, 1)).numpy()
        return self._against(states.pooled if self.model.config.pooling == "max" else states.hidden)[0].numpy()
