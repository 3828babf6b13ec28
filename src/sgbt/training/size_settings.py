"""What the size of a dataset decides of the model that is chosen for it."""

from __future__ import annotations

from dataclasses import dataclass

SMALL, MEDIUM, LARGE = 3_000_000, 12_000_000, 25_000_000
"""Words of train times classes, up to which several models are tried, n-grams have four words, and three."""


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """What the size of a dataset decides."""

    longest: int
    minimum_count: int
    several: bool
    """Whether a bag of words is tried beside the n-grams, and words learn from vectors."""

    @staticmethod
    def of(words: int, classes: int) -> SizeSettings:
        """For so many words of train and so many classes: time and memory grow with their product."""
        size = words * classes
        longest = 4 if size <= MEDIUM else 3 if size <= LARGE else 2
        return SizeSettings(longest, 2 if size <= MEDIUM else 5, size <= SMALL)
