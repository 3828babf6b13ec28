"""Statistical certificates: true with a stated probability, never called proven, never in one table with proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from sgbt.certify.certificate import CertificateRow
from sgbt.certify.rows.comparison import RowComparison, compared
from sgbt.certify.rows.file import require_alike
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share


class Finding(StrEnum):
    """The three answers there are."""

    STATISTICAL = "statistical"
    """The smoothed classifier says the label, and goes on saying it up to `radius` words:
    with the stated confidence."""
    ABSTAINED = "abstained"
    """The smoothed classifier seems to say the label; not surely enough."""
    MISCLASSIFIED = "misclassified"
    """Most of the first samples say another label."""


@dataclass(frozen=True, kw_only=True)
class StatisticalCertificate(CertificateRow):
    """One text's answer by sampling.

    The base classifier said the label on `agreeing` of `samples` random versions of the text, so the smoothed one does
    with probability at least `lower`, but for a chance of `alpha` / `questions` that the samples mislead (Clopper and
    Pearson). Replacing r words takes away at most 1 - `overlaps`[r]; `radius` is the largest r up to
    `max_substitutions` with more than one half left (None: any number of words; -1: not even the text itself).
    """

    kind: ClassVar[str] = "statistical"
    digits: ClassVar[int] = 64

    index: int
    verdict: Finding
    label: int
    predicted: int
    lower: float
    agreeing: int
    samples: int
    first_samples: int
    alpha: float
    questions: int
    seed: int
    noise: str
    replaceable: int
    radius: int | None
    max_substitutions: int | None
    model_hash: str
    text_hash: str
    milliseconds: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Finding(self.verdict))
        asked = self.radius is None or (self.max_substitutions is not None and self.radius >= self.max_substitutions)
        faults = (
            not 0 < self.alpha < 1 or self.questions < 1,
            not 0 <= self.agreeing <= self.samples or not 0 <= self.lower <= 1,
            (self.verdict is Finding.MISCLASSIFIED) != (self.label != self.predicted),
            self.verdict is Finding.STATISTICAL and not (asked and self.lower > 0.5),
            self.verdict is Finding.ABSTAINED and asked,
        )
        if any(faults):
            raise CertificateError(
                expected="a statistical certificate that does not contradict itself",
                got=f"{self.verdict}, {self.agreeing} of {self.samples}, bound {self.lower}, radius {self.radius}",
                where=f"text {self.index}",
            )

    @property
    def queries(self) -> int:
        """How many texts the base classifier was asked about."""
        return self.samples + self.first_samples


@dataclass(frozen=True)
class StatisticalSummary:
    """The figures of many statistical certificates, of all texts: `statistical` is no certified accuracy."""

    clean: Share
    statistical: Share
    abstained: Share
    alpha: float
    questions: int
    queries: int
    milliseconds: float

    @staticmethod
    def of(certificates: Sequence[StatisticalCertificate]) -> StatisticalSummary:
        """Count the verdicts; proofs, and rows of several questions, are refused."""
        named = ("model_hash", "noise", "alpha", "questions", "max_substitutions", "samples")
        require_alike(certificates, StatisticalCertificate, named, "a summary")
        total = len(certificates)
        counts = {answer: sum(row.verdict is answer for row in certificates) for answer in Finding}
        return StatisticalSummary(
            clean=Share(total - counts[Finding.MISCLASSIFIED], total),
            statistical=Share(counts[Finding.STATISTICAL], total),
            abstained=Share(counts[Finding.ABSTAINED], total),
            alpha=certificates[0].alpha if total else 0.0,
            questions=certificates[0].questions if total else 1,
            queries=sum(row.queries for row in certificates),
            milliseconds=sum(row.milliseconds for row in certificates),
        )


@compared.register
def _compared(
    row: StatisticalCertificate, fresh: StatisticalCertificate, by_tier: Callable[[str], object]
) -> RowComparison:
    """Where last digits depend on the batch, a callable may vote otherwise on one sample in a hundred."""
    if row.predicted != fresh.predicted or row.agreeing > fresh.agreeing + row.samples // 100:
        said = f"{row.agreeing} of {row.samples} samples for {row.predicted}"
        return RowComparison(f"{said}, where {fresh.agreeing} are for {fresh.predicted}")
    return RowComparison(weaker=row.agreeing < fresh.agreeing)
