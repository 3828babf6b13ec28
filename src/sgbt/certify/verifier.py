"""How a model is verified: a verifier for each kind, found by dispatch and registered beside its implementation."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Protocol

from sgbt.certify.question import Question
from sgbt.certify.separable import SeparableBound
from sgbt.certify.word_tables import WordTables
from sgbt.models import TwoChannel


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


@singledispatch
def verifiers(model: Any, question: Question, tables: WordTables) -> list[Verifier]:
    """The verifiers of a model in float64, one for each part whose logits are added.

    `tables` serves all questions to this model. A model of another kind needs only a worst case
    (`sgbt.models.worst_case_logits`), which then is every tier.
    """
    from sgbt.certify.linear import WorstCaseVerifier

    return [WorstCaseVerifier(model, question)]


@verifiers.register
def _sum(model: TwoChannel, question: Question, tables: WordTables) -> list[Verifier]:
    return [verifier for part in model.parts for verifier in verifiers(part, question, tables)]
