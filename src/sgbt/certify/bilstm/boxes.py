"""What the states of a BiLSTM can become: boxes of all gates and states over all substitutions, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.bounds.ibp import Pair, scaled_by_gate
from sgbt.certify.bilstm.rounding import LocalErrors
from sgbt.certify.lines import Box
from sgbt.certify.specification import Specification
from sgbt.certify.word_tables import WordTables
from sgbt.core.shapes import Float
from sgbt.models import BiLSTM
from sgbt.models.bilstm import reversed_within

BUDGET_IN_BOXES = 4
"""Boxes take a limit on replaced words into account up to this many; each costs one more pass over the text."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Both directions side by side, each in its reading order: tensors are [steps, directions, texts, numbers].

    `gates` are pre-activations in torch's order i, f, g, o; `before` and `after` the cell state that a step finds and
    leaves; `hidden` what it gives. `words` is what a word adds to the gates, biases included: the text's own, and the
    ends over its substitutes. The boxes of gates and states contain whatever rounding (`errors`) makes of them.
    """

    gates: Box
    before: Box
    after: Box
    hidden: Box
    words: Box
    recurrent: Float[Tensor, "directions gates hidden"]
    moves: tuple[Tensor, Tensor]
    """What each swap adds to the gates of the step that reads it, [swaps, 4 hidden] for each direction."""
    steps: tuple[Tensor, Tensor]
    """The step at which each direction reads the swapped word, [swaps]."""
    errors: LocalErrors

    def at(self, step: int) -> Steps:
        """The boxes of one step."""
        gates, before, after, hidden = (box.at(step) for box in (self.gates, self.before, self.after, self.hidden))
        return replace(self, gates=gates, before=before, after=after, hidden=hidden)

    @property
    def entering(self) -> Float[Tensor, "steps directions texts gates"]:
        """What the words of the text itself add to the gates."""
        return self.words.clean

    @cached_property
    def size(self) -> int:
        """The number of hidden units."""
        return self.hidden.clean.shape[-1]

    def gains(
        self,
        spec: Specification,
        coefficients: Float[Tensor, "steps directions texts rivals gates"],
        radii: Float[Tensor, "steps directions texts rivals gates"] | None = None,
    ) -> Float[Tensor, "swaps rivals"]:
        """What each swap adds to the sum of coefficients . gates, [swaps, rivals], both directions together.

        `coefficients` is [steps, directions, texts, rivals, 4 hidden]; with `radii` they are only known to within that
        distance, and the least value is taken.
        """
        _, directions, texts, rivals, gates = coefficients.shape
        total = coefficients.new_zeros(len(spec.swaps), rivals)
        for direction, (move, step) in enumerate(zip(self.moves, self.steps, strict=True)):
            row = (step * directions + direction) * texts + spec.swaps.text
            near = coefficients.reshape(-1, rivals * gates).index_select(0, row).view(-1, rivals, gates)
            total += torch.einsum("srg,sg->sr", near, move)
            if radii is not None:
                near = radii.reshape(-1, rivals * gates).index_select(0, row).view(-1, rivals, gates)
                total -= torch.einsum("srg,sg->sr", near, move.abs())
        return total


def lstm_boxes(model: BiLSTM, spec: Specification, tables: WordTables) -> Steps:
    """Run a BiLSTM, in float64, on the texts themselves and on the boxes of all that they may become."""
    lengths, swaps = spec.lengths.clamp(min=1), spec.swaps
    placed = tables.place(model, spec)
    chosen = placed.words.choices[placed.places[swaps.text, swaps.place]]
    swapped = chosen.gather(1, swaps.slot.unsqueeze(1)).squeeze(1)
    ends: list[list[Tensor]] = [[], [], []]
    moves = []
    for backwards, lstm in enumerate((model.forwards, model.backwards)):
        bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
        images = placed.images(str(backwards), lstm.get_parameter("weight_ih_l0"), bias)
        moved = images.values.index_select(0, swapped) - images.values.index_select(0, chosen[:, 0])
        moves.append(moved if spec.scale == 1.0 else moved.mul_(spec.scale))
        for kept, entry in zip(ends, (images.own, images.low, images.high), strict=True):
            there = F.embedding(entry[placed.places], images.values)
            kept.append(reversed_within(there, lengths) if backwards else there)
    own, low, high = (torch.stack(pair).permute(2, 0, 1, 3) for pair in ends)
    recurrent = torch.stack([lstm.get_parameter("weight_hh_l0") for lstm in (model.forwards, model.backwards)])
    errors = LocalErrors.of(model, lengths)
    entering = (own, own) if spec.budget == 0 else (low, high)
    box = _run((own, own), entering, recurrent, budget=spec.budget, errors=errors)
    gates, before, after, hidden = (
        Box.around(clean, *pair) for clean, pair in zip(_states(own, recurrent), box, strict=True)
    )
    ahead = swaps.place
    behind = lengths[swaps.text] - 1 - swaps.place
    words = Box(low, high, own)
    return Steps(gates, before, after, hidden, words, recurrent, (moves[0], moves[1]), (ahead, behind), errors)


def enclosed_states(model: BiLSTM, vectors: Float[Tensor, "texts words width"]) -> Pair:
    """Hidden states of texts of one length, [steps, directions, texts, hidden], between what rounding makes of them.

    `vectors` is [texts, words, width], in float64.
    """
    entering = []
    for backwards, lstm in enumerate((model.forwards, model.backwards)):
        bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
        entering.append(F.linear(vectors.flip(1) if backwards else vectors, lstm.get_parameter("weight_ih_l0"), bias))
    own = torch.stack(entering).permute(2, 0, 1, 3)
    recurrent = torch.stack([lstm.get_parameter("weight_hh_l0") for lstm in (model.forwards, model.backwards)])
    errors = LocalErrors.of(model, torch.full((len(vectors),), len(own), device=own.device))
    return _run((own, own), (own, own), recurrent, budget=None, errors=errors)[3]


def shrunk_boxes(steps: Steps, share: float) -> Steps:
    """The boxes when words move only by a share of what they may; slopes alone hang on them, so rounding does not."""
    if share == 1.0:
        return steps
    clean = (steps.gates.clean, steps.before.clean, steps.after.clean, steps.hidden.clean)
    ends = steps.words.shrunk(share)
    runs = _run((ends.clean, ends.clean), (ends.lower, ends.upper), steps.recurrent, budget=None)
    gates, before, after, hidden = (Box.around(exact, *pair) for exact, pair in zip(clean, runs, strict=True))
    return replace(steps, gates=gates, before=before, after=after, hidden=hidden)


def _states(own: Tensor, recurrent: Tensor) -> list[Tensor]:
    """Gates, cell states before and after, and hidden states of the texts themselves, for every step."""
    _, directions, texts, gates = own.shape
    hidden = cell = own.new_zeros(directions, texts, gates // 4)
    weight = recurrent.transpose(1, 2)
    record: list[list[Tensor]] = [[], [], [], []]
    for entering in own.unbind():
        opened = torch.baddbmm(entering, hidden, weight)
        i, f, g, o = opened.chunk(4, dim=-1)
        before, cell = cell, f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        for kept, value in zip(record, (opened, before, cell, hidden), strict=True):
            kept.append(value)
    return [torch.stack(values) for values in record]


def _run(
    own: Pair, entering: Pair, recurrent: Tensor, *, budget: int | None, errors: LocalErrors | None = None
) -> list[Pair]:
    """Boxes of gates, cell states before and after, and hidden states, for every step; widened by rounding errors.

    With a budget n, the boxes of states are kept for every number j <= n of words replaced so far. A step with j
    replaced so far either read an original word after j, or a substitute after j - 1: its box is the hull of both.
    """
    steps, directions, texts, gates = own[0].shape
    levels = 1 if budget is None or budget > BUDGET_IN_BOXES else budget + 1
    zero = own[0].new_zeros(levels, directions, texts, gates // 4)
    hidden: Pair = (zero, zero)
    cell: Pair = (zero, zero)
    weight = recurrent.transpose(1, 2)
    magnitude = weight.abs()
    record: list[list[Pair]] = [[], [], [], []]
    for step in range(steps):
        middle = torch.matmul((hidden[0] + hidden[1]) / 2, weight)
        radius = torch.matmul((hidden[1] - hidden[0]) / 2, magnitude)
        if errors is not None:
            radius = radius + errors.gates
        recurring = middle - radius, middle + radius
        free = (entering[0][step], entering[1][step])
        kept = free if levels == 1 else (own[0][step], own[1][step])
        opened = (recurring[0] + kept[0], recurring[1] + kept[1])
        before = cell
        new_cell, new_hidden = cell_box(opened, cell)
        if levels > 1:  # a substitute, after one replacement fewer
            other = (recurring[0][:-1] + free[0], recurring[1][:-1] + free[1])
            cell_2, hidden_2 = cell_box(other, (cell[0][:-1], cell[1][:-1]))
            opened, new_cell, new_hidden = _hull(opened, other), _hull(new_cell, cell_2), _hull(new_hidden, hidden_2)
        cell, hidden = new_cell, new_hidden
        if errors is not None:
            cell = (cell[0] - errors.cell(step), cell[1] + errors.cell(step))
            hidden = (hidden[0] - errors.state, hidden[1] + errors.state)
        for kept_values, pair in zip(record, (opened, before, cell, hidden), strict=True):
            kept_values.append((pair[0][-1], pair[1][-1]))
    return [(torch.stack([low for low, _ in pairs]), torch.stack([high for _, high in pairs])) for pairs in record]


def _hull(whole: Pair, fewer: Pair) -> Pair:
    """Levels 1 and up joined with what comes from one level below."""
    low = torch.cat([whole[0][:1], torch.minimum(whole[0][1:], fewer[0])])
    high = torch.cat([whole[1][:1], torch.maximum(whole[1][1:], fewer[1])])
    return low, high


def cell_box(gates: Pair, cell: Pair) -> tuple[Pair, Pair]:
    """One step of interval propagation: the boxes of the new cell state and of the new hidden state."""
    low, high = gates[0].chunk(4, dim=-1), gates[1].chunk(4, dim=-1)
    opened, kept, output = ((low[gate].sigmoid(), high[gate].sigmoid()) for gate in (0, 1, 3))
    added = scaled_by_gate(opened, (low[2].tanh(), high[2].tanh()))
    held = scaled_by_gate(kept, cell)
    new = (held[0] + added[0], held[1] + added[1])
    return new, scaled_by_gate(output, (new[0].tanh(), new[1].tanh()))
