"""How a model is verified: a verifier for each kind, found by dispatch and registered beside its implementation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

from sgbt.certify.question import Question
from sgbt.certify.separable import SeparableBound
from sgbt.certify.word_tables import WordTables
from sgbt.models import Sum


class Verifier(Protocol):
    """A model in float64 with a question to it, and the tiers by which it can be answered."""

    @property
    def model(self) -> Any:
        """The model, or the part of a sum, in float64."""
        ...

    @property
    def question(self) -> Question:
        """The texts, and what may stand in their places."""
        ...

    def offers(self, tier: str) -> bool:
        """Whether the tier is more than the one before it, for this model."""
        ...

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The bounds of a tier that is offered; each is sound, so the best counts."""
        ...


@dataclass(frozen=True, slots=True)
class WeightedVerifier:
    """The verifier of one part of a sum; the bounds of the part, times its weight, are bounds of its share."""

    verifier: Verifier
    weight: float

    @property
    def model(self) -> Any:
        """The part itself, its weight apart."""
        return self.verifier.model

    @property
    def question(self) -> Question:
        """The question to the part."""
        return self.verifier.question

    def offers(self, tier: str) -> bool:
        """What the part offers."""
        return self.verifier.offers(tier)

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The bounds of the part, times its weight."""
        return [bound.times(self.weight) for bound in self.verifier.bounds(tier)]


@singledispatch
def verifiers(model: Any, question: Question, tables: WordTables) -> list[Verifier]:
    """The verifiers of a model in float64, one for each part whose logits are added.

    `tables` serves all questions to this model. A model of another kind needs only a worst case
    (`sgbt.models.worst_case_logits`), which then is every tier.
    """
    from sgbt.certify.linear import WorstCaseVerifier

    return [WorstCaseVerifier(model, question)]


@verifiers.register
def _sum(model: Sum, question: Question, tables: WordTables) -> list[Verifier]:
    found = [(weight, own) for weight, part in model.terms for own in verifiers(part, question, tables)]
    return [own if weight == 1 else WeightedVerifier(own, weight) for weight, own in found]
