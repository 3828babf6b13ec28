"""A sum of models: its bounds, allowances and magnitudes are those of its parts, times their weights, added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from sgbt.certify.rounding import DOUBLE, SINGLE, float32_allowance, float64_allowance, largest_logit
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, lowest_margin, verifiers, words_at_once
from sgbt.certify.word_tables import WordTables
from sgbt.models import TwoChannel


def terms(model: TwoChannel) -> list[tuple[float, Any]]:
    """The weight of each part, and the part."""
    return [(1.0, part) for part in model.parts]


@dataclass(frozen=True, eq=False)
class WeightedVerifier:
    """A verifier whose margins count `weight` times; that is above zero, so a lower bound stays one."""

    inner: Verifier
    weight: float

    @property
    def model(self) -> Any:
        """The part's model."""
        return self.inner.model

    @property
    def spec(self) -> Specification:
        """The same for all parts."""
        return self.inner.spec

    def offers(self, tier: str) -> bool:
        """What the part offers."""
        return self.inner.offers(tier)

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The part's bounds, times the weight."""
        return [bound.times(self.weight) for bound in self.inner.bounds(tier)]


@verifiers.register
def _verifiers(model: TwoChannel, spec: Specification, tables: WordTables) -> list[Verifier]:
    return [
        verifier if weight == 1 else WeightedVerifier(verifier, weight)
        for weight, part in terms(model)
        for verifier in verifiers(part, spec, tables)
    ]


@float64_allowance.register
@torch.no_grad()
def _in_float64(model: TwoChannel, *, longest: int) -> float:
    """A term is rounded once for each addition, and once where it has a weight: in two logits, in the bound's constant,
    and in the gains of its swaps, which are less than the constant where a text is certified."""
    weighted = any(weight != 1 for weight, _ in terms(model))
    logits = sum(weight * largest_logit(part, longest=longest) for weight, part in terms(model))
    own = sum(weight * float64_allowance(part, longest=longest) for weight, part in terms(model))
    return 8 * (len(terms(model)) - 1 + weighted) * DOUBLE * logits + own


@float32_allowance.register
@torch.no_grad()
def _in_float32(model: TwoChannel, *, longest: int) -> float:
    """Logits of several networks are added in float32, unless weights are applied, which is done in float64."""
    gaps = [(weight, part, float32_allowance(part, longest=longest)) for weight, part in terms(model)]
    singles = [part for _, part, gap in gaps if gap]  # without a gap it has no logit, or adds up in float64
    added = 0.0
    if len(singles) > 1 and all(weight == 1 for weight, _ in terms(model)):
        added = 4 * (len(singles) - 1) * SINGLE * sum(largest_logit(part, longest=longest) for part in singles)
    return added + sum(weight * gap for weight, _, gap in gaps)


@lowest_margin.register
def _lowest(model: TwoChannel, *, longest: int) -> float:
    return sum(weight * lowest_margin(part, longest=longest) for weight, part in terms(model))


@words_at_once.register
def _batch(model: TwoChannel) -> int:
    return min(words_at_once(part) for _, part in terms(model))
