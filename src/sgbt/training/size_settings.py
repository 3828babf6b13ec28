"""What the size of a dataset decides of the model that is chosen for it."""

from __future__ import annotations

from dataclasses import dataclass

FINEST, FINE, COARSE = 30.0, 3.0, 0.3
"""Resolutions of synonym clusters: the smaller, the fewer and larger they are."""
CLUSTERINGS: dict[tuple[float, ...], str] = {
    (FINE,): "fine synonym clusters",
    (COARSE,): "coarse synonym clusters",
    (FINE, COARSE, FINEST): "three clusterings of synonyms",
}
"""What n-grams are read from, with the names that the reasons use."""
SMALL, MEDIUM, LARGE = 3_000_000, 12_000_000, 25_000_000
"""Words of train times classes, up to which several models are tried, n-grams have four words, and three."""


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """What the size of a dataset decides."""

    longest: int
    minimum_count: int
    clusterings: tuple[tuple[float, ...], ...]
    words_beside: bool

    @staticmethod
    def of(words: int, classes: int) -> SizeSettings:
        """For so many words of train and so many classes: time and memory grow with their product."""
        size = words * classes
        longest = 4 if size <= MEDIUM else 3 if size <= LARGE else 2
        small = size <= SMALL
        return SizeSettings(longest, 2 if size <= MEDIUM else 5, tuple(CLUSTERINGS) if small else ((FINE,),), small)
