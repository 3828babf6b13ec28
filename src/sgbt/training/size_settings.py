"""What the size of a dataset decides of the model that is chosen for it."""

from __future__ import annotations

from dataclasses import dataclass

SMALL, MEDIUM, LARGE = 3_000_000, 12_000_000, 25_000_000
"""Words of train times classes, up to which several models are tried, n-grams have four words, and three."""
PRIOR_OF_TWO, PRIOR_OF_MORE = 3.0, 0.5
"""Of n-grams, by classes: of several, each has a small share of the texts, and a large prior hides what n-grams say of
it."""


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """What the size of a dataset decides."""

    longest: int
    minimum_count: int
    prior: float
    """How many texts of every class an n-gram is counted in beforehand (`BagOfNgramsConfig`)."""
    several: bool
    """Whether a bag of words is tried beside the n-grams, and words learn from vectors."""

    @staticmethod
    def of(words: int, classes: int) -> SizeSettings:
        """For so many words of train and so many classes: time and memory grow with their product."""
        size = words * classes
        longest = 4 if size <= MEDIUM else 3 if size <= LARGE else 2
        prior = PRIOR_OF_TWO if classes == 2 else PRIOR_OF_MORE
        minimum_count = 2 if size <= MEDIUM else 3
        return SizeSettings(longest, minimum_count, prior, size <= SMALL)
