"""Figures about a table and about what it does to texts, as records that print themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgbt.threats.table import SubstitutionTable

SHOWN = 10
"""How many of the words with most substitutes a description lists."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """Totals of a table; `most` lists the words with most substitutes and how many they have."""

    name: str
    hash: str
    words: int
    pairs: int
    mean: float
    maximum: int
    most: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.hash[:12]}): {self.words:,} words have substitutes, {self.pairs:,} substitutions, "
            f"{self.mean:.2f} a word, at most {self.maximum}{_listed(self.most)}"
        )


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """How many words of some texts have substitutes, and how many variants the texts have.

    `log10_combinations` is the base-10 logarithm of the number of texts that substitution makes out of one, the text
    itself included, for the median text; `most` lists the words of the texts with most substitutes, the more frequent
    first where they have as many.
    """

    texts: int
    words: int
    replaceable: int
    log10_combinations: float
    most: tuple[tuple[str, int], ...]
    texts_reached: int
    """Texts in which at least one word can be replaced."""

    @property
    def share(self) -> float:
        """The share of running words that can be replaced."""
        return self.replaceable / self.words if self.words else 0.0

    def __str__(self) -> str:
        return (
            f"{self.replaceable:,} of {self.words:,} words in {self.texts:,} texts can be replaced ({self.share:.1%}); "
            f"the median text has 10^{self.log10_combinations:.1f} variants{_listed(self.most)}"
        )


@dataclass(frozen=True, slots=True)
class BatchStatistics:
    """What substitution does to a batch as a model sees it; `log10_combinations` has one number per text."""

    texts: int
    words: int
    replaceable: int
    log10_combinations: tuple[float, ...]
    most: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        variants = f"the median text has 10^{median(self.log10_combinations):.1f} variants" if self.texts else "no text"
        share = self.replaceable / self.words if self.words else 0.0
        return (
            f"{self.replaceable:,} of {self.words:,} words in {self.texts:,} texts can be replaced ({share:.1%}); "
            f"{variants}{_listed(self.most)}"
        )


def describe_table(table: SubstitutionTable) -> TableDescription:
    """Totals of a table."""
    sizes = {word: len(table.entries[word]) for word in sorted(table.entries)}
    pairs = sum(sizes.values())
    return TableDescription(
        name=table.name,
        hash=table.hash,
        words=len(sizes),
        pairs=pairs,
        mean=pairs / len(sizes) if sizes else 0.0,
        maximum=max(sizes.values(), default=0),
        most=_most(sizes),
    )


def describe_texts(table: SubstitutionTable, texts: Iterable[Collection[str]]) -> TextStatistics:
    """What a table does to texts given as words."""
    counts: Counter[str] = Counter()
    logarithms = []
    reached = 0
    factors = {word: math.log10(1 + len(substitutes)) for word, substitutes in table.entries.items()}
    for words in texts:
        counts.update(words)
        reached += any(word in factors for word in words)
        logarithms.append(math.fsum(factors[word] for word in words if word in factors))
    return TextStatistics(
        texts=len(logarithms),
        words=counts.total(),
        replaceable=sum(count for word, count in counts.items() if word in table),
        log10_combinations=median(logarithms) if logarithms else 0.0,
        most=_most({word: len(table.substitutes(word)) for word, _ in counts.most_common() if word in table}),
        texts_reached=reached,
    )


def combinations(table: SubstitutionTable, words: Sequence[str]) -> int:
    """How many texts substitution makes out of one, the text itself included: an exact whole number."""
    return math.prod(1 + len(table.substitutes(word)) for word in words)


def _most(sizes: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """The largest of `sizes`; among equals, those that come first."""
    return tuple(sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN])


def _listed(most: tuple[tuple[str, int], ...]) -> str:
    return f"; most: {', '.join(f'{word} {count}' for word, count in most[:5])}" if most else ""
