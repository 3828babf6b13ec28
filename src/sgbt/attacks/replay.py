"""Attacks made again: whether rows that say that nothing was found are right, as far as a sample shows."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from sgbt.attacks.campaign import attack
from sgbt.attacks.result import FAILED, AttackResult
from sgbt.attacks.search.method import method_named
from sgbt.core.errors import AttackError, ForgedRowError
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable


@dataclass(frozen=True, slots=True)
class Replayed:
    """Of `failed` rows of one attack, which say that nothing was found, so many were made `again` and nothing was.

    `reason` says why none was, where none could be.
    """

    failed: int
    again: int
    reason: str = ""


def replay(
    classifier: TextClassifier,
    rows: Sequence[AttackResult],
    table: SubstitutionTable | None,
    *,
    sample: float | None,
    seed: int,
    where: str = "the attack rows",
) -> Replayed:
    """Make failed attacks of one series again, a `sample` of them drawn by `seed` (a number, a share, None: all).

    The same method, options, seed, text, table and model give the same result, so one that breaks its text now did not
    fail, and raises `ForgedRowError`.
    """
    failed = [row for row in rows if row.status == FAILED]
    if not failed:
        return Replayed(0, 0)
    first = failed[0]
    if table is None or (reason := _reason(first, table)):
        return Replayed(len(failed), 0, reason if table is not None else "no table is at hand")
    count = len(failed) if sample is None else math.ceil(sample * len(failed)) if sample < 1 else int(sample)
    chosen = random.Random(seed).sample(failed, min(count, len(failed)))
    made = attack(
        classifier,
        [row.original for row in chosen],
        table,
        method=first.method,
        labels=[row.label for row in chosen],
        seed=first.seed,
        max_queries=first.max_queries,
        **dict(first.options or {}),
    )
    for row, again in zip(chosen, made, strict=True):
        if again.status != FAILED:
            raise ForgedRowError(
                expected=f"a row of {row.title} for text {row.index} that says what is so",
                got=f"status {row.status}, where the same attack breaks the text",
                where=where,
                remedy="attack this model again",
            )
    return Replayed(len(failed), len(chosen))


def _reason(row: AttackResult, table: SubstitutionTable) -> str:
    """Why an attack cannot be made again, if so."""
    if row.options is None:
        return "the rows do not say their options"
    if row.threat_hash:
        return f"the rows are within the threat {row.threat}"
    if not row.table_hash:
        return "the rows do not name their table"
    if row.table_hash != table.hash:
        return "the rows are of another table"
    try:
        method_named(row.method, **row.options)
    except (AttackError, TypeError):
        return "method and options are those of no method of this version"
    return ""
