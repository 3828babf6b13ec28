"""From rows to figures: every metric of the protocol, each with its denominator and a 95 % interval.

There are two denominators throughout. *Robust* accuracy counts the texts that were right and stayed right among
all texts; *accuracy under attack* (AUA, as the paper defines it) counts them among the texts that were right to begin
with, so a model that is wrong more often can have a higher one. Certified accuracy is among all texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sgbt.attacks import AttackResult
from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS
from sgbt.certify import Certificate, Verdict
from sgbt.certify.rows.file import require_proofs
from sgbt.certify.rows.summary import Summary
from sgbt.core.shares import Z95, Share

STUDENT_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's distribution with 1, 2, ... 30 degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `count` values, and their standard deviation (with count - 1; not a number below two values)."""

    value: float
    deviation: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        """The mean of some values; of none it is not a number."""
        count = len(values)
        if not count:
            return Mean(math.nan, math.nan, 0)
        mean = math.fsum(values) / count
        if count < 2:
            return Mean(mean, math.nan, count)
        return Mean(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1)), count)

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval of the mean behind the values; without bounds when there are fewer than two."""
        if self.count < 2:
            return -math.inf, math.inf
        half = _student(self.count - 1) * self.deviation / math.sqrt(self.count)
        return self.value - half, self.value + half

    def __str__(self) -> str:
        if self.count < 2:
            return f"{self.value:,.4g}" if self.count else "none"
        low, high = self.interval
        return f"{self.value:,.4g} ({low:,.4g} to {high:,.4g}), of {self.count:,}"


def _student(freedom: int) -> float:
    """The quantile; beyond the table, the first terms of its expansion about the normal one (error below 1e-4)."""
    if freedom <= len(STUDENT_95):
        return STUDENT_95[freedom - 1]
    return Z95 + (Z95**3 + Z95) / (4 * freedom) + (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / (96 * freedom**2)


BUDGETS = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
PAIRED_BUDGETS = (1, 3, 10)
"""Budgets at which methods are also compared text by text."""
"""How many words may be replaced at once, where certified accuracy is stated by that number."""

Figures = dict[str, Any]
"""JSON values by name."""


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """What one attack did to many texts.

    `robust`: right and unbroken, of all texts. `aua`: the same, of the texts that were right. `success`: broken, of
    the texts that were right. Queries and seconds are per attacked text, the share of changed words per broken text.
    """

    robust: Share
    aua: Share
    success: Share
    queries: Mean
    words_changed: Mean
    seconds: Mean

    @staticmethod
    def of(results: Sequence[AttackResult]) -> AttackFigures:
        """Count the rows of one method, one row per text."""
        attacked = [result for result in results if result.status != SKIPPED]
        broken = [result for result in results if result.status == SUCCESS]
        robust = sum(result.status == FAILED for result in results)
        return AttackFigures(
            robust=Share(robust, len(results)),
            aua=Share(robust, len(attacked)),
            success=Share(len(broken), len(attacked)),
            queries=Mean.of([float(result.queries) for result in attacked]),
            words_changed=Mean.of([result.share_changed for result in broken]),
            seconds=Mean.of([result.seconds for result in attacked]),
        )

    def to_json(self) -> Figures:
        """All figures by name."""
        return (
            share_figures("robust", self.robust, "robust_accuracy")
            | share_figures("aua", self.aua, "aua")
            | share_figures("success", self.success, "success_rate")
            | mean_figures("queries", self.queries)
            | mean_figures("words_changed", self.words_changed)
            | mean_figures("seconds", self.seconds)
        )


def certified_figures(certificates: Sequence[Certificate]) -> Figures:
    """Certified accuracy, by budget and by tier, with milliseconds per text."""
    summary = Summary.of(certificates)
    spent = Mean.of([sum(row.milliseconds.values()) for row in certificates if row.milliseconds])
    return (
        share_figures("certified", summary.certified)
        | share_figures("certified_of_correct", summary.certified_of_correct, "certified_of_correct")
        | share_figures("vacuous", summary.vacuous, "vacuous")
        | {
            "certified_by_budget": {str(budget): sum(certified_within(certificates, budget)) for budget in BUDGETS},
            "certified_tiers": {
                tier.name: {
                    "tried": tier.tried,
                    "certified": tier.certified,
                    "median_milliseconds": tier.median_milliseconds,
                }
                for tier in summary.tiers
            },
            "certified_slack": summary.slack,
        }
        | mean_figures("certified_milliseconds", spent)
    )


def certified_within(certificates: Sequence[Certificate], budget: int) -> list[bool]:
    """For every text, whether it is right and proven to stay right while at most `budget` words are replaced.

    A text with nothing to replace counts where nothing is replaced, and nowhere else, as it does not among certified.
    A lower bound: it rests on each certificate's `radius`, and a run with `max_substitutions` can prove more.
    """
    require_proofs(certificates, "accuracy by budget")
    return [row.verdict is not Verdict.MISCLASSIFIED and _reach(row) >= budget for row in certificates]


def _reach(row: Certificate) -> float:
    if row.certified:
        return math.inf if row.max_substitutions is None else row.max_substitutions
    return max(row.radius or 0, 0)


def weakest_words(results: Sequence[AttackResult], most: int = 25) -> list[list[Any]]:
    """The swaps that broke texts most often, as [old, new, texts]; ties in the order of the alphabet."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.status == SUCCESS:
            counts.update({(swap.old, swap.new) for swap in result.swaps})
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [[old, new, count] for (old, new), count in ordered[:most]]


def share_figures(name: str, share: Share, value: str | None = None) -> Figures:
    """A share as four figures: its value, count, total and interval."""
    low, high = share.interval
    return {
        value or f"{name}_accuracy": share.value if share.total else None,
        f"{name}_count": share.count,
        f"{name}_total": share.total,
        f"{name}_interval": [low, high],
    }


def mean_figures(name: str, mean: Mean) -> Figures:
    """A mean as three figures; what too few values do not determine is null."""
    low, high = mean.interval
    return {
        name: None if math.isnan(mean.value) else mean.value,
        f"{name}_total": mean.count,
        f"{name}_interval": [low, high] if math.isfinite(low) else None,
    }
