"""What no certificate may say, whoever wrote it: numbers out of range, tiers that do not exist or prove nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sgbt.core.errors import CertificateError
from sgbt.core.registry import TIERS

if TYPE_CHECKING:
    from sgbt.certify.certificate import Certificate

CLEAN = "clean"
"""The tier of a text that is misclassified to begin with, or has nothing to replace: nothing was bounded."""
HEAD = "head"
"""The tier of a text for which no tier tried found more than what holds for every text (`sgbt.certify.floor`)."""


def check_claims(row: Certificate) -> None:
    """Raise on the first claim that cannot be; whether those that can be are true is for `verify` to say."""
    _check_numbers(row)
    if not row.tiers or not all(tier in TIERS for tier in row.tiers):
        raise _refusal(row, f"tiers among {', '.join(TIERS)}", ", ".join(row.tiers) or "none")
    if row.tier not in (row.tiers if row.certified else (*row.tiers, CLEAN, HEAD)):
        raise _refusal(row, f"a tier that was tried ({', '.join(row.tiers)})", row.tier)
    for tier, spent in row.milliseconds.items():
        if tier not in TIERS or not 0 <= spent < math.inf:
            raise _refusal(row, "milliseconds of known tiers, finite and at least 0", f"{tier}: {spent}")


def _check_numbers(row: Certificate) -> None:
    unproven = row.margin == -math.inf and not row.certified
    budget = row.replaceable if row.max_substitutions is None else min(row.replaceable, row.max_substitutions)
    if row.index < 0:
        raise _refusal(row, "an index of at least 0", str(row.index))
    if not (math.isfinite(row.margin) or unproven) or not 0 <= row.slack < math.inf:
        got = f"margin {row.margin}, slack {row.slack}"
        raise _refusal(row, "a finite margin and a finite slack of at least 0", got, remedy="check the model's weights")
    if min(row.label, row.predicted) < 0:
        raise _refusal(row, "a label and a prediction of at least 0", f"{row.label} and {row.predicted}")
    if not 0 <= row.replaceable <= row.read <= row.words:
        got = f"{row.words}, {row.read} and {row.replaceable}"
        raise _refusal(row, "words, of them those read, of them those replaceable", got)
    if row.unknown is not None and not 0 <= row.unknown <= row.read:
        raise _refusal(row, f"from 0 to {row.read} unknown words", str(row.unknown))
    if row.max_substitutions is not None and row.max_substitutions < 0:
        raise _refusal(row, "max_substitutions of at least 0", str(row.max_substitutions))
    if not 0 <= row.scale <= 1:
        raise _refusal(row, "a scale from 0 to 1", str(row.scale))
    if row.radius is not None and not 0 <= row.radius <= budget:
        raise _refusal(row, f"a radius from 0 to {budget}, the words that may be replaced", str(row.radius))


def _refusal(row: Certificate, expected: str, got: str, *, remedy: str = "") -> CertificateError:
    return CertificateError(expected=expected, got=got, where=f"text {row.index}", remedy=remedy)
