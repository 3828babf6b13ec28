"""A row beside a fresh proof of the same text: whether it claims more than can be proven."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeVar

from sgbt.certify.certificate import Certificate, CertificateRow, Verdict
from sgbt.core.errors import CertificateError, ForgedRowError
from sgbt.models import covers_weights_alone

TOLERANCE = 1e-9
"""By how much, relative to one plus its size, a margin may exceed the fresh one: sums are rounded in another order when
other texts are beside it."""
DEPLOYED = 1e-5
"""The same for the text's own margin, which is computed in the model's own precision."""

Sample = int | float | None
"""How many rows are proven again, or which share of them below one; None is all."""


@dataclass(frozen=True, slots=True)
class RowComparison:
    """What a row claims beyond what is proven, if anything (`fault`), and what else is to be said of it.

    `weaker`: more can be proven than the row says. `earlier`: it is of an earlier version and states a smaller slack,
    another tier, or, of an undecided text, a larger bound, than this one proves; its verdict holds all the same.
    """

    fault: str = ""
    weaker: bool = False
    earlier: bool = False


@singledispatch
def compared(row: Any, fresh: Any, by_tier: Callable[[str], Any]) -> RowComparison:
    """A row beside a proof that was made just now of the same text, label and settings.

    Where the row names another tier than the fresh proof, which stops at the first that certifies, the tier named must
    prove it alone: `by_tier` tries one. Each kind of certificate registers what its rows claim.
    """
    raise CertificateError(expected="a certificate", got=type(row).__name__, where="compared")


@compared.register
def _compared(row: Certificate, fresh: Certificate, by_tier: Callable[[str], Certificate]) -> RowComparison:
    old = covers_weights_alone(row.model_hash)
    if fault := _other_text(row, fresh) or _other_verdict(row, fresh):
        return RowComparison(fault)
    named = by_tier(row.tier) if row.certified and row.tier != fresh.tier else fresh
    tier = row.certified and not named.certified
    if tier and not old:
        return RowComparison(f"tier {row.tier}, which does not prove it; {fresh.tier} does")
    fresh = max(fresh, named, key=lambda proof: (proof.certified, proof.margin))
    margin, radius = _above(row, fresh), _radius(row) > _radius(fresh)
    slack = row.slack < fresh.slack * (1 - TOLERANCE)
    if margin and not (old and row.verdict is Verdict.ABSTAINED):
        return RowComparison(f"margin {row.margin:.9g}, where {fresh.margin:.9g} is proven by {fresh.tier}")
    if slack and not old:
        return RowComparison(f"a rounding slack of {row.slack:.3g}, where {fresh.slack:.3g} is needed")
    if radius:
        return RowComparison(f"radius {row.radius}, where {fresh.radius} is proven")
    less = row.margin < fresh.margin - _tolerance(row, fresh) or _radius(row) < _radius(fresh)
    return RowComparison(weaker=row.verdict != fresh.verdict or less, earlier=margin or slack or tier)


def _other_text(row: Certificate, fresh: Certificate) -> str:
    for name in ("predicted", "words", "read", "replaceable", "unknown"):
        said, found = getattr(row, name), getattr(fresh, name)
        if said != found and not (name == "unknown" and said is None):
            return f"{name} {said}, where it is {found}"
    return ""


def _other_verdict(row: Certificate, fresh: Certificate) -> str:
    """A verdict that is not the proven one, unless it claims less."""
    if row.verdict == fresh.verdict or (row.verdict is Verdict.ABSTAINED and fresh.certified):
        return ""
    return f"{row.verdict} with margin {row.margin:.9g}, where the proof says {fresh.verdict} with {fresh.margin:.9g}"


def _above(row: Certificate, fresh: Certificate) -> bool:
    return row.margin > fresh.margin + _tolerance(row, fresh)


def _tolerance(row: Certificate, fresh: Certificate) -> float:
    bounded = row.verdict in (Verdict.CERTIFIED, Verdict.ABSTAINED)
    return (TOLERANCE if bounded else DEPLOYED) * (1 + min(abs(row.margin), abs(fresh.margin)))


def _radius(row: Certificate) -> int:
    return -1 if row.radius is None else row.radius


def drawn_seed() -> int:
    """A seed that nobody can foresee: who writes rows must not know which of them will be proven again."""
    return secrets.randbits(63)


Row = TypeVar("Row", bound=CertificateRow)


def sampled(rows: Sequence[Row], sample: Sample, seed: int) -> list[Row]:
    """The rows to be proven again, in order of their index."""
    if sample is None:
        return sorted(rows, key=lambda row: row.index)
    if sample <= 0 or (isinstance(sample, float) and not sample < 1):
        raise CertificateError(
            expected="a number of rows of at least 1, or a share below 1", got=str(sample), where="sample"
        )
    count = math.ceil(sample * len(rows)) if isinstance(sample, float) else min(sample, len(rows))
    return sorted(random.Random(seed).sample(list(rows), count), key=lambda row: row.index)


def forged(index: int, fault: str, where: str) -> ForgedRowError:
    """The error that names a row and what it says wrongly."""
    return ForgedRowError(
        expected=f"a true row for text {index}",
        got=fault,
        where=where,
        remedy="these rows prove nothing: certify again",
    )
