"""Boxes of a BiLSTM tightened at every step by planes carried back to the words: what tier full works on.

Interval propagation forgets how coordinates move together, and forgets more at every step. Here each step's gates, and
the cell state that it leaves, are bounded like a margin: as linear functions of the earlier states, carried back to
the words through the planes of the earlier steps, with the exact minimum over each word's substitutes. The result is
intersected with the interval box; both hold, so both at once hold. The planes of a step then have offsets from its
tightened box, so what is gained early is gained again at every later step.

Carrying back over all steps costs the square of the length. After `lookback` steps the earlier states' boxes are used
instead, which is as sound and nearly as tight.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from sgbt.bounds.ibp import Pair
from sgbt.certify.bilstm.boxes import Steps, cell_box
from sgbt.certify.bilstm.planes import Planes, added_planes, kept_planes, output_planes
from sgbt.certify.lines import Box
from sgbt.certify.specification import Specification

LOOKBACK = 16


def tightened(steps: Steps, reference: Steps | None, spec: Specification, *, lookback: int = LOOKBACK) -> Steps:
    """The same steps with boxes that are nowhere wider; the planes have slopes fitted to the reference boxes.

    Without a reference they are fitted to the tightened boxes themselves.
    """
    return _Tightening(steps, reference, spec, lookback).run()


@dataclass
class _Tightening:
    steps: Steps
    reference: Steps | None
    spec: Specification
    lookback: int
    output: list[Planes] = field(default_factory=list)
    kept: list[Planes] = field(default_factory=list)
    added: list[Planes] = field(default_factory=list)
    gates: list[Box] = field(default_factory=list)
    after: list[Box] = field(default_factory=list)
    hidden: list[Box] = field(default_factory=list)

    def run(self) -> Steps:
        self.words = _choices(self.steps, self.spec)
        before = self.steps.before.at(0)
        befores = []
        for step in range(self.steps.entering.shape[0]):
            befores.append(before)
            gates = self._gates(step)
            self.gates.append(gates)
            around = self._around(step, gates, before, before)  # what comes after is not known yet
            self.kept.append(kept_planes(gates, before, around))
            self.added.append(added_planes(gates, around))
            cell = cell_box((gates.lower, gates.upper), (before.lower, before.upper))
            after = _meet(self.steps.after.at(step), *_wider(cell[0], self.steps.errors.cell(step)))
            after = _meet(after, *self._ends(step, None, _units(after)))
            self.after.append(after)
            around = self._around(step, gates, before, after)
            self.output.append(output_planes(gates, after, around))
            opened = [end.chunk(4, dim=-1)[3].sigmoid() for end in (gates.lower, gates.upper)]
            squashed = after.lower.tanh(), after.upper.tanh()
            corners = torch.stack([gate * value for gate in opened for value in squashed])
            product = _wider((corners.amin(dim=0), corners.amax(dim=0)), self.steps.errors.state)
            self.hidden.append(_meet(self.steps.hidden.at(step), *product))
            before = after
        return replace(
            self.steps,
            gates=_stacked(self.gates),
            before=_stacked(befores),
            after=_stacked(self.after),
            hidden=_stacked(self.hidden),
        )

    def _around(self, step: int, gates: Box, before: Box, after: Box) -> Steps:
        """What the planes of a step are fitted to."""
        if self.reference is not None:
            return self.reference.at(step)
        return replace(self.steps.at(step), gates=gates, before=before, after=after)

    def _gates(self, step: int) -> Box:
        """The gates of a step: what its word adds, plus the recurrent matrix times the hidden state before."""
        box = self.steps.gates.at(step)
        if step == 0:
            return box
        texts = box.clean.shape[1]
        rows = self.steps.recurrent.unsqueeze(1).expand(-1, texts, -1, -1)
        low, high = self._ends(step - 1, rows, torch.zeros_like(rows))
        own = self.words[step]
        least, greatest = own.amin(dim=2), own.amax(dim=2)
        return _meet(box, *_wider((low + least, high + greatest), self.steps.errors.gates))

    def _ends(self, step: int, by_hidden: Tensor | None, by_cell: Tensor) -> tuple[Tensor, Tensor]:
        """The range of by_hidden . h + by_cell . c after a step; weights are [directions, texts, targets, hidden]."""
        both = torch.cat([by_cell, -by_cell], dim=2)
        hidden = None if by_hidden is None else torch.cat([by_hidden, -by_hidden], dim=2)
        low, minus_high = self._lowest(step, hidden, both).chunk(2, dim=2)
        return low, -minus_high

    def _lowest(self, step: int, p: Tensor | None, q: Tensor) -> Tensor:
        total = torch.zeros_like(q[..., 0])
        stop = max(step - self.lookback + 1, 0)
        for s in range(step, stop - 1, -1):
            by_output = torch.zeros_like(q)
            if p is not None:
                plane = self.output[s].chosen(p)
                total = total + (p * plane.offset).sum(dim=-1)
                by_output, q = p * plane.first, q + p * plane.second
            hold, add = self.kept[s].chosen(q), self.added[s].chosen(q)
            total = total + (q * (hold.offset + add.offset)).sum(dim=-1)
            gate = torch.cat((q * add.first, q * hold.first, q * add.second, by_output), dim=-1)
            total = total - self.steps.errors.lost(q if p is None else p, q, gate, s)
            total = total + torch.einsum("dbrg,dbcg->dbrc", gate, self.words[s]).amin(dim=-1)
            q = q * hold.second
            p = torch.einsum("dbrg,dgh->dbrh", gate, self.steps.recurrent)
        if stop > 0 and p is not None:
            total = total + _over(p, self.hidden[stop - 1]) + _over(q, self.after[stop - 1])
        return total


def _choices(steps: Steps, spec: Specification) -> list[Tensor]:
    """For every step, what each choice of its word adds to the gates: [directions, texts, choices, 4 hidden].

    A slot that is not allowed repeats the word itself, so that least and greatest values are right without a mask.
    """
    length, directions, texts, gates = steps.entering.shape
    slots = spec.ids.shape[2]
    table = steps.entering.unsqueeze(3).repeat(1, 1, 1, slots, 1)
    for direction, (move, step) in enumerate(zip(steps.moves, steps.steps, strict=True)):
        table[step, direction, spec.swaps.text, spec.swaps.slot] += move
    return list(table.view(length, directions, texts, slots, gates).unbind())


def _wider(ends: Pair, error: Tensor | float) -> Pair:
    """The ends moved apart by what rounding may have lost."""
    return ends[0] - error, ends[1] + error


def _units(box: Box) -> Tensor:
    """One target for each coordinate."""
    size = box.clean.shape[-1]
    eye = torch.eye(size, dtype=box.clean.dtype, device=box.clean.device)
    return eye.expand(*box.clean.shape[:2], size, size)


def _over(weight: Tensor, box: Box) -> Tensor:
    """The least of weight . x over a box."""
    low = torch.einsum("dbrh,dbh->dbr", weight.clamp(min=0), box.lower)
    return low + torch.einsum("dbrh,dbh->dbr", weight.clamp(max=0), box.upper)


def _meet(box: Box, lower: Tensor, upper: Tensor) -> Box:
    """Both boxes at once; the clean value is in both, and rounding shall not put it outside."""
    return Box.around(box.clean, torch.maximum(box.lower, lower), torch.minimum(box.upper, upper))


def _stacked(boxes: list[Box]) -> Box:
    return Box(*(torch.stack([getattr(box, end) for box in boxes]) for end in ("lower", "upper", "clean")))
