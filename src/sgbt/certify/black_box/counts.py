"""What n-grams add to a margin, and how large the norm of a text's features can be.

A step of the dynamic programme has one transition where nothing can be chosen, so that its n-grams surely occur; the
others are choices. A feature that surely occurs c times, and m times more at most, has the value factor * growth(c + k)
with some k from 0 to m. Growth is concave: growth(c + k) - growth(c) lies between k (growth(c + m) - growth(c)) / m and
k (growth(c + 1) - growth(c)). So straight lines bound what choices add, the lower one where the weight is positive,
the upper one where it is negative; for m = 1 both are exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

Tokens = tuple[str, ...]
Feature = tuple[int, float]
SwapTuples = tuple[tuple[int, str], ...]
Growth = Callable[[int], float]
Norm = Literal["l1", "l2"] | None

GROWTHS: Mapping[str, Growth] = MappingProxyType(
    {"binary": lambda count: float(count > 0), "sublinear": lambda count: 1 + math.log(count) if count else 0.0}
)
"""How a feature grows with its count: concave on whole numbers, from 0 on."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One way from state to state: the words chosen on it, and the features that it adds."""

    before: Tokens
    after: Tokens
    swaps: SwapTuples
    features: tuple[Feature, ...]


Transitions = list[Transition]


def straightened(steps: list[Transitions], weights: Sequence[float], growth: Growth) -> list[Transitions]:
    """Steps whose features add up to no more, weighted, than those of the given steps with growth."""
    factors = {number: factor for step in steps for each in step for number, factor in each.features}
    sure, possible = _counted(steps)
    slopes = {}
    for number, most in possible.items():
        least, rising = sure[number], weights[number] * factors[number] > 0
        reach = most if rising else 1
        slopes[number] = factors[number] * (growth(least + reach) - growth(least)) / reach
    begin = Transition((), (), (), tuple((number, factors[number] * growth(count)) for number, count in sure.items()))
    lines = [[begin]]
    for step in steps:
        if len(step) == 1:
            lines.append([replace(step[0], features=())])
        else:
            lines.append(
                [
                    replace(each, features=tuple((number, slopes[number]) for number, _ in each.features))
                    for each in step
                ]
            )
    return lines


def _counted(steps: list[Transitions]) -> tuple[Counter[int], Counter[int]]:
    """How often every feature surely occurs, and how often more at most."""
    sure: Counter[int] = Counter()
    possible: Counter[int] = Counter()
    for step in steps:
        if len(step) == 1:
            sure.update(number for number, _ in step[0].features)
            continue
        most: Counter[int] = Counter()
        for each in step:
            most |= Counter(number for number, _ in each.features)
        possible.update(most)
    return sure, possible


def norms_of(steps: list[Transitions], norm: Norm, growth: str | None = None) -> tuple[float, float]:
    """Bounds of |x| over all paths: every feature lies between the sums of its least and largest value of each step."""
    if norm is None:
        return 1.0, 1.0
    lows: dict[int, float] = {}
    highs: dict[int, float] = {}
    for step in steps:
        if len(step) == 1:
            for number, factor in step[0].features:
                lows[number] = lows.get(number, 0.0) + factor
                highs[number] = highs.get(number, 0.0) + factor
            continue
        seen = [_summed(each.features) for each in step]
        for number in set().union(*seen):
            values = [each.get(number, 0.0) for each in seen]
            lows[number] = lows.get(number, 0.0) + min(values)
            highs[number] = highs.get(number, 0.0) + max(values)
    if growth is not None:
        grown, factors = (
            GROWTHS[growth],
            {number: factor for step in steps for each in step for number, factor in each.features},
        )
        for bounds in (lows, highs):
            for number, value in bounds.items():
                bounds[number] = factors[number] * grown(round(value / factors[number]))
    least = np.array([max(lows[number], -highs[number], 0.0) for number in lows])
    most = np.array([max(-lows[number], highs[number]) for number in lows])
    if norm == "l1":
        return float(least.sum()) * (1 - 1e-12), float(most.sum()) * (1 + 1e-12)
    return float(np.sqrt((least**2).sum())) * (1 - 1e-12), float(np.sqrt((most**2).sum())) * (1 + 1e-12)


def _summed(features: tuple[Feature, ...]) -> dict[int, float]:
    total: dict[int, float] = {}
    for number, factor in features:
        total[number] = total.get(number, 0.0) + factor
    return total
