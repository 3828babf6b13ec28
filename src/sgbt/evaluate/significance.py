"""Paired significance: do two methods differ on the same texts by more than chance would make them?

The test is the exact sign-flip test over texts. For each text, d is the number of seeds on which the first method is
right minus that of the second. If the methods were exchangeable, each d could as well have had the other
sign, so the sum of all d is one draw from a known distribution: a sum of fair coins, each counting |d|. The p-value is
the chance of a sum at least as far from zero, computed exactly. With one seed this is McNemar's exact test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from sgbt.core.errors import EvaluationError

Outcomes = NDArray[np.bool_]
"""For every text, whether a model is right, robust or certified."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Two methods on the same texts: how often only the first is right, only the second, and the two-sided p-value.

    Pairs are counted over seeds, the p-value takes texts as the units that are drawn.
    """

    only_first: int
    only_second: int
    texts: int
    seeds: int
    p_value: float

    @property
    def difference(self) -> float:
        """The first method's share minus the second's."""
        return (self.only_first - self.only_second) / (self.texts * self.seeds) if self.texts else 0.0

    def __str__(self) -> str:
        seeds = f" x {self.seeds} seeds" if self.seeds > 1 else ""
        return (
            f"{100 * self.difference:+.2f} points; only the first is right {self.only_first:,} times, only the second "
            f"{self.only_second:,}, of {self.texts:,} texts{seeds}; p = {self.p_value:.2g}"
        )


def compare(first: Sequence[Outcomes], second: Sequence[Outcomes]) -> Paired:
    """The test for one array per seed of either method, in the same order of seeds and texts."""
    if len(first) != len(second) or not first or len({len(own) for own in (*first, *second)}) != 1:
        raise EvaluationError(
            expected="the same texts and seeds for both methods",
            got=f"{[len(own) for own in first]} and {[len(own) for own in second]} texts",
            where="compare",
        )
    one, other = np.stack(first), np.stack(second)
    apart = one.astype(np.int64) - other.astype(np.int64)
    return Paired(
        only_first=int((apart > 0).sum()),
        only_second=int((apart < 0).sum()),
        texts=one.shape[1],
        seeds=one.shape[0],
        p_value=sign_flip(apart.sum(axis=0)),
    )


def sign_flip(differences: NDArray[np.int64]) -> float:
    """The exact two-sided p-value of a sum of whole numbers whose signs are fair coins."""
    size = np.abs(differences)
    weights = [(int(each), int((size == each).sum())) for each in np.unique(size[size > 0])]
    if not weights:
        return 1.0
    chances = reduce(np.convolve, (_coins(each, count) for each, count in weights))
    reach = (len(chances) - 1) // 2
    sums = np.arange(-reach, reach + 1)
    return float(min(chances[np.abs(sums) >= abs(int(differences.sum()))].sum(), 1.0))


def _coins(weight: int, count: int) -> NDArray[np.float64]:
    """The distribution of a sum of `count` coins worth plus or minus `weight`, over -weight count ... weight count."""
    heads = range(count + 1)
    logs = [lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) - count * log(2) for k in heads]
    chances = np.zeros(2 * weight * count + 1)
    chances[:: 2 * weight] = np.exp(logs)
    return chances


def packed(outcomes: Sequence[bool] | Outcomes) -> dict[str, object]:
    """Bits as hexadecimal digits, first text first, with their number."""
    bits = np.asarray(outcomes, dtype=bool)
    return {"texts": len(bits), "held": np.packbits(bits).tobytes().hex()}


def unpacked(outcome: dict[str, object]) -> Outcomes:
    """What `packed` packed."""
    try:
        texts, digits = int(str(outcome["texts"])), bytes.fromhex(str(outcome["held"]))
        if len(digits) != (texts + 7) // 8:
            raise ValueError("another number of texts than bits")
    except (KeyError, ValueError) as problem:
        raise EvaluationError(
            expected="outcomes that sgbt wrote", got=f"a fault: {problem}", where="outcomes"
        ) from None
    return np.unpackbits(np.frombuffer(digits, np.uint8), count=texts).astype(bool)


def within(budget: int) -> str:
    """What the outcome is called that a text was right and proven to stay so for a number of replaced words."""
    return f"certified, {budget} word" + "s" * (budget != 1)
