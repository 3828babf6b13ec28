"""Randomised smoothing: the label that most random versions of a text get, and how many replaced words it survives.

Let g(t) be the probability that the base classifier says y on a random version of t. If the versions of t and of t'
can be drawn together so that they are the same with probability o, then g(t') >= g(t) - (1 - o). Samples give a lower
bound of g(t) (Clopper and Pearson 1934), true but for a chance of alpha; where it exceeds 3/2 - o, y keeps the majority
at t'. That is statistical: the samples may mislead, with that chance, and the classifier certified is the smoothed one.

*Substitution* (SAFER, Ye et al. 2020): every word becomes a uniformly random one of its neighbourhood in the table.
Words are drawn independently, so o is at least the product over replaced places of how much the two neighbourhoods
overlap. *Deletion* (Huang et al. 2023, "RS-Del"; CERT-ED): every word is deleted with probability p. If all r places
where t and t' differ are deleted, the versions agree: o = p^r, for any words put there, and for r words inserted or
deleted too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sgbt.attacks.queries.engine import Classify
from sgbt.attacks.victim import CallableVictim
from sgbt.certify.black_box.arguments import checked_texts
from sgbt.certify.black_box.statistical import Finding, StatisticalCertificate
from sgbt.certify.rows.comparison import TOLERANCE
from sgbt.certify.rows.running import Listener, Prover
from sgbt.certify.specification import whole_budget
from sgbt.core.errors import CertificateError
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable

Words = tuple[str, ...]


class Noise(Protocol):
    """How random versions of a text are made, and how much of them survives replaced words."""

    @property
    def name(self) -> str:
        """What rows call it: kind, parameters, table."""
        ...

    def sampled(self, words: Words, count: int, rng: np.random.Generator) -> list[str]:
        """Random versions of a text, independent of each other."""
        ...

    def overlaps(self, words: Words) -> np.ndarray:
        """For each number of replaced words from 0 on, a lower bound of the probability that versions agree.

        The last holds for any larger number as well.
        """
        ...

    def replaceable(self, words: Words) -> int:
        """How many words an adversary could replace."""
        ...


@dataclass(frozen=True, eq=False)
class Substitution:
    """Every word becomes a random one of those within `steps` links of it in the table, itself included."""

    table: SubstitutionTable
    steps: int = 1
    most: int = 100
    _near: dict[str, Words] = field(default_factory=dict, repr=False)
    _kept: dict[str, float] = field(default_factory=dict, repr=False)
    _links: dict[str, dict[str, None]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.steps < 1 or self.most < 1:
            raise CertificateError(expected="steps and most of at least 1", got=f"{self.steps} and {self.most}")
        for word, substitutes in self.table.entries.items():
            for other in substitutes:
                self._links.setdefault(word, {})[other] = None
                self._links.setdefault(other, {})[word] = None

    @property
    def name(self) -> str:
        """The kind of noise, its size and the hash of the table."""
        return f"substitution:steps={self.steps},most={self.most},table={self.table.hash[:12]}"

    def sampled(self, words: Words, count: int, rng: np.random.Generator) -> list[str]:
        """Words with a space between."""
        columns = []
        for word in words:
            near = self._nearby(word)
            columns.append(
                [near[pick] for pick in rng.integers(len(near), size=count)] if len(near) > 1 else near * count
            )
        return [" ".join(row) for row in zip(*columns, strict=True)] if words else [""] * count

    def overlaps(self, words: Words) -> np.ndarray:
        """The product of the r least overlaps."""
        kept = sorted(self._overlap(word) for word in words if word in self.table)
        return np.array(list(np.cumprod([1.0, *kept])))

    def replaceable(self, words: Words) -> int:
        """The words with substitutes."""
        return sum(word in self.table for word in words)

    def _nearby(self, word: str) -> Words:
        found = self._near.get(word)
        if found is None:
            reached, edge = {word: None}, [word]
            for _ in range(self.steps):
                edge = [other for each in edge for other in self._links.get(each, ()) if other not in reached]
                reached |= dict.fromkeys(edge)
            found = self._near[word] = tuple(reached)[: self.most]
        return found

    def _overlap(self, word: str) -> float:
        """The least, over substitutes, of the probability that both draw the same word."""
        if word not in self._kept:
            own = set(self._nearby(word))
            shares = []
            for other in self.table.substitutes(word):
                theirs = self._nearby(other)
                shares.append(sum(each in own for each in theirs) / max(len(own), len(theirs)))
            self._kept[word] = min(shares)
        return self._kept[word]


@dataclass(frozen=True)
class Deletion:
    """Every word is deleted with `probability`."""

    probability: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise CertificateError(expected="a probability between 0 and 1", got=str(self.probability))

    @property
    def name(self) -> str:
        """The kind of noise and its size."""
        return f"deletion:probability={self.probability!r}"

    def sampled(self, words: Words, count: int, rng: np.random.Generator) -> list[str]:
        """The words that are left, with a space between."""
        kept = rng.random((count, len(words))) >= self.probability
        return [" ".join(words[place] for place in np.flatnonzero(row)) for row in kept]

    def overlaps(self, words: Words) -> np.ndarray:
        """p^r, for up to as many words as there are."""
        return np.asarray(self.probability ** np.arange(len(words) + 1))

    def replaceable(self, words: Words) -> int:
        """Every word: no table is asked."""
        return len(words)


def certify_smoothed(
    classify: Classify,
    texts: Sequence[str],
    noise: Noise,
    *,
    labels: Sequence[int] | None = None,
    max_substitutions: int | None = None,
    samples: int = 1000,
    first_samples: int = 100,
    alpha: float = 0.001,
    simultaneous: bool = False,
    seed: int = 0,
    tokenizer: Tokenizer | None = None,
    fingerprint: str | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
) -> list[StatisticalCertificate]:
    """A statistical certificate for every text: the smoothed classifier says the label, for all allowed replacements.

    `first_samples` choose the label that is asked about, `samples` others bound its probability. Each certificate is
    false with probability at most `alpha`; `simultaneous` divides it by the number of texts (Bonferroni), so that with
    probability 1 - `alpha` none of them is false. The samples of text i depend on `seed` and i alone.
    """
    if not 0 < alpha < 1 or samples < 1 or first_samples < 1:
        got = f"alpha {alpha}, samples {samples}, first samples {first_samples}"
        raise CertificateError(expected="alpha between 0 and 1, and samples of at least 1", got=got)
    max_substitutions, (texts, labels) = whole_budget(max_substitutions), checked_texts(texts, labels)
    victim = CallableVictim(classify, tokenizer or Tokenizer(), fingerprint=fingerprint)
    shared: dict[str, Any] = {
        "samples": samples,
        "first_samples": first_samples,
        "alpha": alpha,
        "questions": len(texts) if simultaneous else 1,
        "seed": seed,
        "noise": noise.name,
        "max_substitutions": max_substitutions,
        "model_hash": victim.fingerprint if out is not None or fingerprint is not None else "",
    }
    hashes = list(map(StatisticalCertificate.hash_of, texts))
    return _Sampler(victim, noise, texts, hashes, labels, shared).rows(out, listener)


@dataclass(frozen=True)
class _Sampler(Prover[StatisticalCertificate]):
    victim: CallableVictim
    noise: Noise
    texts: Sequence[str]
    hashes: Sequence[str]
    labels: Sequence[int] | None
    shared: dict[str, Any]

    kind = StatisticalCertificate

    def label(self, row: StatisticalCertificate) -> int:
        return row.predicted if self.labels is None else int(self.labels[row.index])

    def proven(self, places: Sequence[int]) -> Iterator[list[StatisticalCertificate]]:
        for place in places:
            yield [self.sampled(place)]

    def fault(self, row: StatisticalCertificate) -> str:
        """A bound that does not follow from the samples."""
        bound = self.bound(self.victim.tokenizer.words(self.texts[row.index]), row.agreeing)
        near = abs(row.lower - bound.pop("lower")) <= TOLERANCE
        follows = near and {name: getattr(row, name) for name in bound} == bound
        return "" if follows else f"bound {row.lower:.6g} and radius {row.radius}, which do not follow"

    def sampled(self, number: int) -> StatisticalCertificate:
        """The certificate of a text, from new samples."""
        begun, first = time.perf_counter(), self.shared["first_samples"]
        words = self.victim.tokenizer.words(self.texts[number])
        rng = np.random.default_rng([self.shared["seed"], number])
        drawn = self.noise.sampled(words, first + self.shared["samples"], rng)
        votes = self.victim.probabilities(drawn).argmax(axis=1)
        predicted = int(np.bincount(votes[:first]).argmax())
        label = predicted if self.labels is None else int(self.labels[number])
        agreeing = int((votes[first:] == predicted).sum())
        bound = self.bound(words, agreeing)
        return StatisticalCertificate(
            index=number,
            verdict=_finding(label, predicted, bound["radius"], self.shared["max_substitutions"]),
            label=label,
            predicted=predicted,
            agreeing=agreeing,
            text_hash=self.hashes[number],
            milliseconds=1000 * (time.perf_counter() - begun),
            **bound,
            **self.shared,
        )

    def bound(self, words: Words, agreeing: int) -> dict[str, Any]:
        """What follows from how many samples agree."""
        lower = clopper_pearson(agreeing, self.shared["samples"], self.shared["alpha"] / self.shared["questions"])
        radius = radius_of(self.noise.overlaps(words), lower)
        return {"lower": lower, "radius": radius, "replaceable": self.noise.replaceable(words)}


def _finding(label: int, predicted: int, radius: int | None, wanted: int | None) -> Finding:
    if label != predicted:
        return Finding.MISCLASSIFIED
    enough = radius is None or (wanted is not None and radius >= wanted)
    return Finding.STATISTICAL if enough else Finding.ABSTAINED


def radius_of(overlaps: np.ndarray, lower: float) -> int | None:
    """The most replaced words for which more than one half is left; None if that is any number, -1 if none."""
    left = lower - (1 - overlaps) > 0.5 + 1e-12
    return None if left.all() else int(np.argmin(left)) - 1


def clopper_pearson(agreeing: int, samples: int, alpha: float) -> float:
    """The p for which `agreeing` or more of `samples` have probability alpha: a lower bound, true but for that chance.

    Found by bisection over the binomial tail in logarithms; the lower end of the last interval is given.
    """
    if agreeing == 0:
        return 0.0
    counts = np.arange(agreeing, samples + 1)
    factorials = np.cumsum([0.0, *np.log(np.arange(1, samples + 1))])
    ways = factorials[samples] - factorials[counts] - factorials[samples - counts]
    low, high = 0.0, agreeing / samples
    for _ in range(60):
        middle = (low + high) / 2
        tail = np.exp(ways + counts * math.log(middle) + (samples - counts) * math.log1p(-middle)).sum()
        low, high = (low, middle) if tail > alpha else (middle, high)
    return low
