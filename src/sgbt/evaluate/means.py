"""Mean: an average with how many values it is of, their spread, and a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sgbt.core.shares import Z95

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
