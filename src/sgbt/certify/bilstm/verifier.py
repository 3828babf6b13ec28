"""The tiers of a BiLSTM: interval, mean value form, two second-order expansions, and fitted planes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sgbt.bounds.ibp import Pair, worst_logits
from sgbt.certify.bilstm.adjoints import Adjoints, clean_adjoints, interval_adjoints
from sgbt.certify.bilstm.boxes import Steps, lstm_boxes, shrunk_boxes
from sgbt.certify.bilstm.planes import carried_planes
from sgbt.certify.bilstm.pooled_states import PooledStates, StateLine
from sgbt.certify.bilstm.remainders import core_remainders, taylor_remainders
from sgbt.certify.bilstm.tightened import tightened
from sgbt.certify.encoded import encoded_margins
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.models import BiLSTM

REFERENCE_SHARES = (1.0, 0.25)
"""The sizes of the reference boxes to which tier crown fits its slopes: the first alone, unless there is a budget."""


@dataclass(frozen=True, eq=False)
class BiLSTMVerifier:
    """A BiLSTM in float64 with a specification: boxes and adjoints are found once, for all tiers."""

    model: BiLSTM
    spec: Specification
    tables: WordTables

    def offers(self, tier: str) -> bool:
        """Every tier of the list below; `exact` only where it can be had."""
        return tier in BILSTM_TIERS and (tier != "exact" or self._enumerable)

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The bounds of one tier."""
        return BILSTM_TIERS[tier](self)

    @property
    def _enumerable(self) -> bool:
        return self.model.embedding.codes is not None

    @cached_property
    def steps(self) -> Steps:
        """The boxes of all steps."""
        return lstm_boxes(self.model, self.spec, self.tables)

    @cached_property
    def pooled(self) -> PooledStates:
        """The margins by the hidden states; nothing flows back from padding."""
        weight, bias = self.spec.against_rivals(self.model.head.weight, self.model.head.bias)
        head = torch.stack(weight.chunk(2, dim=2))
        lengths = self.spec.lengths.clamp(min=1)
        return PooledStates(self.model.config.pooling, head, bias, self.steps.hidden, lengths)

    @cached_property
    def expanded(self) -> list[tuple[StateLine, Adjoints]]:
        """Lines below the margins, with the ordinary backward pass of each at the texts themselves."""
        return [(line, clean_adjoints(self.steps, line.weight)) for line in self.pooled.below()]

    def interval(self) -> list[SeparableBound]:
        """Tier ibp."""
        lengths = self.spec.lengths.clamp(min=1)
        low, high = (
            self.model.pool([end[:, 0], end[:, 1]], lengths)
            for end in (self.steps.hidden.lower, self.steps.hidden.upper)
        )
        worst = worst_logits((low, high), self.model.head.weight, self.model.head.bias, self.spec.labels)
        return [SeparableBound.flat(self.spec, -worst.gather(1, self.spec.rivals))]

    def gradient(self) -> list[SeparableBound]:
        """Tier gbm: margin(x') = margin(x) + sum_t G_t . move_t with G in the interval gradient."""
        (low, high), lost = interval_adjoints(self.steps, self.pooled.slopes())
        gains = self.steps.gains(self.spec, (low + high) / 2, (high - low) / 2)
        return [SeparableBound(self.spec, self.pooled.margins - lost, gains)]

    def core(self) -> list[SeparableBound]:
        """Tier sgbt-core: the remainders from the curvature bound of the cell."""
        left = core_remainders(self.steps)
        return [self._second_order(line, back, left, back.later) for line, back in self.expanded]

    def taylor(self) -> list[SeparableBound]:
        """Tier sgbt-taylor: the remainders from exact one-dimensional ones."""
        left = taylor_remainders(self.steps)
        return [self._second_order(line, back, left, back.cell) for line, back in self.expanded]

    def _second_order(
        self, line: StateLine, back: Adjoints, remainders: tuple[Pair, Pair], cell: Tensor
    ) -> SeparableBound:
        """S-GBT: line(x') - line(x) = sum_t g_t . move_t + sum_t (p_t . r^h_t + q_t . r^C_t), exactly.

        g, p and q are the line's derivatives by gates, hidden and cell states at the text itself: the remainders are
        sources of the linearised network, and its response to a source is the adjoint at that place. Where r^h is the
        remainder of the whole cell, q counts only what flows through the next step.
        """
        (cell_low, cell_high), (hidden_low, hidden_high) = remainders
        lost = _least(back.hidden, hidden_low, hidden_high) + _least(cell, cell_low, cell_high)
        lost = lost * (1 + 4 * self.steps.errors.share.unsqueeze(1))  # a sum of terms of one sign
        lost = lost - self.steps.errors.lost_in_all(back.hidden, back.cell, back.gates)
        gains = self.steps.gains(self.spec, back.gates)
        return SeparableBound(self.spec, line.at(self.steps.hidden.clean) + lost, gains)

    @cached_property
    def references(self) -> list[Steps]:
        """The boxes to which tier crown fits its slopes, in some sizes."""
        fitted = self.spec.fitted
        if fitted is None:
            return [shrunk_boxes(self.steps, 0.0)]
        steps = self.steps if fitted is self.spec else lstm_boxes(self.model, fitted, self.tables)
        shares = REFERENCE_SHARES if self.spec.budget is not None else REFERENCE_SHARES[:1]
        return [shrunk_boxes(steps, share) for share in shares]

    def fitted(self) -> list[SeparableBound]:
        """Tier crown: planes with slopes fitted to reference boxes, carried back from the margin to the words."""
        lines = [line for around in self.references for line in self.pooled.below(around.hidden)]
        weights = torch.cat([line.weight for line in lines], dim=2)
        offsets, coefficients = carried_planes(self.steps, self.references, weights)
        found = []
        for line, offset, part in zip(
            lines, offsets.chunk(len(lines)), coefficients.chunk(len(lines), dim=2), strict=True
        ):
            constant = line.offset + offset + torch.einsum("sdbrg,sdbg->br", part, self.steps.entering)
            found.append(SeparableBound(self.spec, constant, self.steps.gains(self.spec, part)))
        return found

    def full(self) -> list[SeparableBound]:
        """Tier full: sgbt-taylor and crown on boxes tightened at every step, those of the reference likewise."""
        fitted, reference = self.spec.fitted, None
        if fitted is None:
            reference = self.references[0]
        elif fitted is not self.spec:
            reference = tightened(lstm_boxes(self.model, fitted, self.tables), None, fitted)
        tight = BiLSTMVerifier(self.model, self.spec, self.tables)
        tight.__dict__["steps"] = tightened(self.steps, reference, self.spec)
        tight.__dict__["references"] = [tight.steps if reference is None else reference, *self.references[1:]]
        return [*tight.interval(), *tight.taylor(), *tight.fitted()]

    def exact(self) -> list[SeparableBound]:
        """Tier exact, for a model that reads codes: the least margins themselves, by trying all readings."""
        return [SeparableBound.flat(self.spec, encoded_margins(self.model, self.spec))]


def _least(adjoint: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """The least of the sum of adjoint . r over r in [low, high]: [texts, rivals]."""
    return torch.einsum("sdbrh,sdbh->br", adjoint.clamp(min=0), low) + torch.einsum(
        "sdbrh,sdbh->br", adjoint.clamp(max=0), high
    )


BILSTM_TIERS: dict[str, Callable[[BiLSTMVerifier], list[SeparableBound]]] = {
    "ibp": BiLSTMVerifier.interval,
    "gbm": BiLSTMVerifier.gradient,
    "sgbt-core": BiLSTMVerifier.core,
    "sgbt-taylor": BiLSTMVerifier.taylor,
    "crown": BiLSTMVerifier.fitted,
    "full": BiLSTMVerifier.full,
    "exact": BiLSTMVerifier.exact,
}


@verifiers.register
def _verifiers(model: BiLSTM, spec: Specification, tables: WordTables) -> list[Verifier]:
    return [BiLSTMVerifier(model, spec, tables)]
