"""What many attacks say together: robust accuracy with its denominator and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult
from sgbt.core.by_class import ByClass
from sgbt.core.errors import AttackError
from sgbt.core.shares import Share


@dataclass(frozen=True, slots=True)
class AttackSummary:
    """One method over many texts.

    `robust` counts correct and unbroken texts among all; `unbroken` counts them among the correctly classified, which
    is what the paper calls accuracy under attack (AUA). A text that is right and has nothing to
    replace counts as unbroken in both. Queries, changes and seconds are means over attacked texts, changes over broken
    ones.
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


def in_series(results: Iterable[AttackResult]) -> list[list[AttackResult]]:
    """Results that are counted together, in the order in which they first occur: one attack within one table.

    A text that has two in one of them is refused: it would be counted twice.
    """
    found: dict[tuple[str, ...], dict[int, AttackResult]] = {}
    for result in results:
        own = found.setdefault(result.series, {})
        if result.index in own:
            raise AttackError(
                expected=f"one row of {result.title} for each text",
                got=f"a second for text {result.index}",
                where="the attack rows",
                remedy="give each file once",
            )
        own[result.index] = result
    return [list(own.values()) for own in found.values()]


def by_class(results: Sequence[AttackResult], names: Sequence[str], *, labelled: bool = True) -> ByClass:
    """What the victim answers for each class, each text counted once whatever number of methods attacked it.

    Not `labelled` are texts whose labels are the victim's own answers.
    """
    texts = {result.index: result for result in results}.values()
    return ByClass.of(names, [(result.label, result.predicted) for result in texts], labelled=labelled)


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
