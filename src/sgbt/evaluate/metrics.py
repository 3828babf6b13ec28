"""From rows to figures: every metric of the protocol, each with its denominator and a 95 % interval.

Two denominators are told apart throughout. *Robust* accuracy counts the texts that were right and stayed right among
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
from sgbt.core.shares import Share
from sgbt.evaluate.means import Mean

BUDGETS = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
PAIRED_BUDGETS = (1, 3, 10)
"""Budgets at which methods are also compared text by text."""
"""How many words may be replaced at once, where certified accuracy is told by that number."""

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
        held = sum(result.status == FAILED for result in results)
        return AttackFigures(
            robust=Share(held, len(results)),
            aua=Share(held, len(attacked)),
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
            "certified_by_budget": {str(budget): sum(held_within(certificates, budget)) for budget in BUDGETS},
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


def held_within(certificates: Sequence[Certificate], budget: int) -> list[bool]:
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
    """A mean as three figures; what cannot be told of too few values is null."""
    low, high = mean.interval
    return {
        name: None if math.isnan(mean.value) else mean.value,
        f"{name}_total": mean.count,
        f"{name}_interval": [low, high] if math.isfinite(low) else None,
    }
