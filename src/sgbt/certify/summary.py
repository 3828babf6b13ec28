"""From rows to figures: accuracies with their denominators and 95 % intervals, and what each tier did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.tiers import TIERS
from sgbt.shares import Share


@dataclass(frozen=True)
class TierSummary:
    """What one tier did: how many texts it was tried on and certified, and the median milliseconds of a try."""

    name: str
    tried: int
    certified: int
    median_milliseconds: float
    mean_milliseconds: float


@dataclass(frozen=True)
class Summary:
    """The figures of many certificates. Both accuracies have all texts as their denominator."""

    clean: Share
    certified: Share
    certified_of_correct: Share
    truncated: int
    slack: float
    tiers: tuple[TierSummary, ...]

    @staticmethod
    def of(certificates: Sequence[Certificate]) -> Summary:
        """Count the verdicts and gather the times."""
        total = len(certificates)
        correct = sum(row.verdict is not Verdict.MISCLASSIFIED for row in certificates)
        proven = sum(row.certified for row in certificates)
        by_tier = Counter(row.tier for row in certificates if row.certified)
        tiers = []
        for name in TIERS:
            spent = sorted(row.milliseconds[name] for row in certificates if name in row.milliseconds)
            if spent:
                middle = (spent[(len(spent) - 1) // 2] + spent[len(spent) // 2]) / 2
                tiers.append(TierSummary(name, len(spent), by_tier[name], middle, sum(spent) / len(spent)))
        return Summary(
            clean=Share(correct, total),
            certified=Share(proven, total),
            certified_of_correct=Share(proven, correct),
            truncated=sum(row.truncated for row in certificates),
            slack=max((row.slack for row in certificates), default=0.0),
            tiers=tuple(tiers),
        )
