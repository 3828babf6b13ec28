"""Share: a count with its denominator and its uncertainty, the only form in which an accuracy is told."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`, with Wilson's 95 % interval for the proportion behind it."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself; not a number when there is nothing to count."""
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval: right for shares near 0 and 1 too, and never beyond them."""
        if not self.total:
            return 0.0, 1.0
        share, z2 = self.value, Z95 * Z95
        middle = (share + z2 / (2 * self.total)) / (1 + z2 / self.total)
        half = math.sqrt(share * (1 - share) / self.total + z2 / (4 * self.total**2)) * Z95 / (1 + z2 / self.total)
        low = max(0.0, middle - half) if self.count else 0.0
        return low, min(1.0, middle + half) if self.count < self.total else 1.0

    def __str__(self) -> str:
        if not self.total:
            return "none"
        low, high = self.interval
        return f"{self.value:.2%} ({low:.2%} to {high:.2%}), {self.count:,} of {self.total:,}"
