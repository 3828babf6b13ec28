"""Shares of texts, with their uncertainty, and by class: the only forms in which an accuracy is given.

An accuracy alone hides what a model does with each class. Of two equally frequent classes a model that always answers
"positive" gets half of the texts right, and certifies all of these, as no substitution changes its answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


FEWEST = 20
"""On fewer texts, one answer for all of them may be chance."""


@dataclass(frozen=True, slots=True)
class OneClass:
    """One class: of its texts, those that are right (`recall`) and those that are certified; and of the texts that
    the model gives this class, those that have it (`precision`). `certified` is None where nothing was to be proven.
    """

    name: str
    recall: Share
    precision: Share
    certified: Share | None = None


@dataclass(frozen=True, slots=True)
class ByClass:
    """All classes of a model, in its order. Without true labels (`labelled` is False) only answers are counted."""

    classes: tuple[OneClass, ...]
    labelled: bool = True

    @staticmethod
    def of(
        names: Sequence[str],
        answers: Iterable[tuple[int, int]],
        *,
        proven: Iterable[tuple[int, bool]] | None = None,
        labelled: bool = True,
    ) -> ByClass:
        """From each text's label and answer, and from each certificate's label and whether it is certified."""
        pairs = Counter(answers)
        texts, answered = Counter[int](), Counter[int]()
        for (label, answer), count in pairs.items():
            texts[label] += count
            answered[answer] += count
        proofs = None if proven is None else Counter(proven)
        return ByClass(
            tuple(
                OneClass(
                    name,
                    Share(pairs[number, number], texts[number]),
                    Share(pairs[number, number], answered[number]),
                    None
                    if proofs is None
                    else Share(proofs[number, True], proofs[number, True] + proofs[number, False]),
                )
                for number, name in enumerate(names)
            ),
            labelled,
        )

    @property
    def texts(self) -> int:
        """How many texts there are."""
        return sum(each.recall.total for each in self.classes)

    @property
    def warning(self) -> str | None:
        """A sentence about a model that answers the same for all texts, where their labels do not explain it."""
        answered = [each for each in self.classes if each.precision.total]
        if self.texts < FEWEST or len(answered) != 1:
            return None
        (only,) = answered
        if self.labelled and only.recall.total == self.texts:
            return None
        return f"the model answers {only.name!r} for all {self.texts:,} texts"

    def to_json(self) -> dict[str, Any]:
        """Counts by class, as records and answers of the server have them."""
        return {"labelled": self.labelled, "classes": [_counts(each) for each in self.classes]}

    @staticmethod
    def from_json(made: dict[str, Any]) -> ByClass:
        """What `to_json` made; a ValueError says what it cannot have made."""
        if not isinstance(made.get("classes"), list) or type(made.get("labelled")) is not bool:
            raise ValueError("no list of classes")
        return ByClass(tuple(map(_from_counts, made["classes"])), made["labelled"])


def _counts(each: OneClass) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "label": each.name,
        "texts": each.recall.total,
        "right": each.recall.count,
        "answered": each.precision.total,
    }
    if each.certified is not None:
        counts |= {"certified": each.certified.count, "certified_texts": each.certified.total}
    return counts


def _from_counts(counts: Any) -> OneClass:
    if not isinstance(counts, dict) or not isinstance(counts.get("label"), str):
        raise ValueError("a class without a label")
    recall, precision = _share(counts, "right", "texts"), _share(counts, "right", "answered")
    proven = _share(counts, "certified", "certified_texts") if "certified" in counts else None
    return OneClass(counts["label"], recall, precision, proven)


def _share(counts: dict[str, Any], name: str, total: str) -> Share:
    count, of = counts.get(name), counts.get(total)
    if type(count) is not int or type(of) is not int or not 0 <= count <= of:
        raise ValueError(f"{name} {count} of {total} {of}"[:80])
    return Share(count, of)
