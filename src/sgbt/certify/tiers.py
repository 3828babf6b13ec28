"""The tiers by name, cheap to dear, and how they apply to a model of one or more parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add
from typing import Protocol

import torch
from torch import Tensor

from sgbt.certify import linear, sums  # noqa: F401  each kind of model registers its verifier, its rounding and its magnitudes
from sgbt.certify.bilstm import rounding as _bilstm_rounding  # noqa: F401
from sgbt.certify.bilstm import verifier as _bilstm  # noqa: F401
from sgbt.certify.cnn import rounding as _cnn_rounding  # noqa: F401
from sgbt.certify.cnn import verifier as _cnn  # noqa: F401
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, WeightedVerifier, verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.core.errors import CertificateError
from sgbt.core.registry import TIERS
from sgbt.core.shapes import Float
from sgbt.models import AnyModel

DEFAULT_TIERS = tuple(tier for tier in TIERS.own if tier != "full")
"""What is tried unless tiers are named: all but `full`, which takes seconds for a text of some hundred words, and those
of other packages."""


class Tier(Protocol):
    """One way to bound the margins of a model over all substitutions; each is known by a name (`core.registry.TIERS`).

    It is asked about each part whose logits are added, by the part's verifier.
    """

    def offered(self, verifier: Verifier) -> bool:
        """Whether the tier has something to say about the verifier's model."""
        ...

    def bounds(self, verifier: Verifier) -> list[SeparableBound]:
        """Bounds for the verifier's specification, where it is offered; each is sound, so the best counts."""
        ...


@dataclass(frozen=True, slots=True)
class OwnTier:
    """A tier that the verifiers of the models themselves know by name."""

    name: str

    def offered(self, verifier: Verifier) -> bool:
        """Whether it is more than the tier before it."""
        return verifier.offers(self.name)

    def bounds(self, verifier: Verifier) -> list[SeparableBound]:
        """What the verifier has under this name."""
        return verifier.bounds(self.name)


OWN_TIERS = {name: OwnTier(name) for name in TIERS.own}


def offered(tier: str, parts: Sequence[Verifier]) -> bool:
    """Whether a tier is more than the one before it for some part of the model."""
    return any(tier_named(tier).offered(verifier) for verifier in parts)


def tier_named(name: str) -> Tier:
    """The tier of a name: a value, or a class that is made without options."""
    found: Tier = TIERS[name]() if isinstance(TIERS[name], type) else TIERS[name]
    return found


def bounds_of(tier: str, parts: Sequence[Verifier]) -> list[SeparableBound]:
    """All bounds that a tier offers; each is sound, so the best counts. Those of parts are added.

    A part for which a tier does not exist counts with tier crown.
    """
    chosen = tier_named(tier)
    menus = [_bounds(chosen, each) if chosen.offered(each) else each.bounds("crown") for each in parts]
    return [reduce(add, choice) for choice in product(*menus)]


def _bounds(tier: Tier, part: Verifier) -> list[SeparableBound]:
    """A tier of another package knows the model alone: the weight of a part of a sum is applied here."""
    if isinstance(part, WeightedVerifier):
        return [bound.times(part.weight) for bound in tier.bounds(part.verifier)]
    return tier.bounds(part)


@torch.no_grad()
def margin_bounds(tier: str, model: AnyModel, spec: Specification) -> Float[Tensor, "texts rivals"]:
    """Lower bounds of every margin over all allowed substitutions, [texts, rivals], by one tier alone.

    `model` is in float64 (`in_float64`); rivals are the classes other than the label (`spec.rivals`).
    """
    check_tiers((tier,))
    return lowest_of(bounds_of(tier, verifiers(model, spec, WordTables())))


def lowest_of(bounds: Sequence[SeparableBound]) -> Float[Tensor, "texts rivals"]:
    """The best of several bounds, rival by rival."""
    return torch.stack([bound.lowest() for bound in bounds]).amax(dim=0)


def check_tiers(tiers: Sequence[str]) -> tuple[str, ...]:
    """Known tiers, each once, cheap before dear."""
    unknown = [tier for tier in tiers if tier not in TIERS]
    if unknown or not tiers:
        raise CertificateError(
            expected=f"tiers among {', '.join(TIERS)}", got=repr(unknown[0]) if unknown else "none", where="tiers"
        )
    return tuple(tier for tier in TIERS if tier in tiers)
