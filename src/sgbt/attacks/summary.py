"""What many attacks say together: robust accuracy with its denominator and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`, with its Wilson interval at 95 %."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself; not a number when there is nothing to count."""
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval: it stays within 0 and 1 and is honest at both ends."""
        if not self.total:
            return 0.0, 1.0
        share, z2 = self.value, Z95 * Z95
        middle = (share + z2 / (2 * self.total)) / (1 + z2 / self.total)
        half = math.sqrt(share * (1 - share) / self.total + z2 / (4 * self.total**2)) * Z95 / (1 + z2 / self.total)
        return (max(0.0, middle - half) if self.count else 0.0), (
            min(1.0, middle + half) if self.count < self.total else 1.0
        )

    def __str__(self) -> str:
        if not self.total:
            return "none"
        low, high = self.interval
        return f"{self.value:.1%} ({self.count:,} of {self.total:,}; {low:.1%} to {high:.1%})"


@dataclass(frozen=True, slots=True)
class AttackSummary:
    """One method over many texts.

    `robust` counts correct and unbroken texts among all; `unbroken` counts them among the correctly classified, which
    is what the paper calls accuracy under attack (AUA). Queries, changes and seconds are means over attacked texts,
    changes over broken ones.
    """

    method: str
    clean: Share
    robust: Share
    unbroken: Share
    queries: float
    share_changed: float
    seconds: float


def summarise(results: Sequence[AttackResult]) -> list[AttackSummary]:
    """One summary per method, in the order in which methods first occur."""
    return [_summary(method, results) for method in dict.fromkeys(result.method for result in results)]


def _summary(method: str, results: Sequence[AttackResult]) -> AttackSummary:
    own = [result for result in results if result.method == method]
    attacked = [result for result in own if result.status != SKIPPED]
    broken = [result for result in own if result.status == SUCCESS]
    held = sum(result.status == FAILED for result in own)
    return AttackSummary(
        method=method,
        clean=Share(len(attacked), len(own)),
        robust=Share(held, len(own)),
        unbroken=Share(held, len(attacked)),
        queries=_mean([result.queries for result in attacked]),
        share_changed=_mean([result.share_changed for result in broken]),
        seconds=_mean([result.seconds for result in attacked]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
