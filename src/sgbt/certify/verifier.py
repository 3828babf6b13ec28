"""What certify must know of a kind of model: one role each, found by dispatch and registered beside its bounds."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.word_tables import WordTables
from sgbt.core.errors import CertificateError
from sgbt.models import AnyModel
from sgbt.models.arrays import odd_weight


class Verifier(Protocol):
    """A model in float64 with a specification, and the tiers by which it can be proven."""

    @property
    def model(self) -> Any:
        """The model, or the part of a sum, in float64."""
        ...

    @property
    def spec(self) -> Specification:
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
    """A verifier whose margins count `weight` times; that is above zero, so a lower bound stays one."""

    verifier: Verifier
    weight: float

    @property
    def model(self) -> Any:
        """The part's model."""
        return self.verifier.model

    @property
    def spec(self) -> Specification:
        """The same for all parts."""
        return self.verifier.spec

    def offers(self, tier: str) -> bool:
        """What the part offers."""
        return self.verifier.offers(tier)

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The part's bounds, times the weight."""
        return [bound.times(self.weight) for bound in self.verifier.bounds(tier)]


@singledispatch
def verifiers(model: Any, spec: Specification, tables: WordTables) -> list[Verifier]:
    """The verifiers of a model in float64, one for each part whose logits are added.

    `tables` serves all specifications for this model. A model of another kind needs only a worst case
    (`sgbt.models.worst_case_logits`), which then is every tier.
    """
    from sgbt.certify.linear import WorstCaseVerifier

    return [WorstCaseVerifier(model, spec)]


@singledispatch
def lowest_margin(model: Any, *, longest: int) -> float:
    """A lower bound of (logit of a class - logit of another) over all texts of at most `longest` words.

    A model of another kind has none: nothing is known of its texts but what a tier proves.
    """
    return -math.inf


@singledispatch
def words_at_once(model: Any) -> int:
    """Words in one batch: more than the overhead of a step, and so few that a batch stays near the processor."""
    return 1 << 12


LARGEST_WEIGHT = 1e50
"""Weights beyond this are refused: with all below it no pre-activation, state or logit can overflow in float64."""


def require_finite(model: AnyModel) -> None:
    """Refuse a model of whose numbers nothing can be proven."""
    if (odd := odd_weight(model.state_dict(), most=LARGEST_WEIGHT)) is not None:
        raise CertificateError(
            expected=f"finite weights of at most {LARGEST_WEIGHT:g} in {odd[0]}",
            got=odd[1],
            where="the model",
            remedy="train again",
        )


def in_float64(model: AnyModel) -> AnyModel:
    """A copy in double precision, without dropout, that no gradient reaches."""
    return copy.deepcopy(model).double().eval().requires_grad_(False)
