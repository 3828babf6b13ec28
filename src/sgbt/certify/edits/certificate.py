"""ThreatCertificate: what is proven about one text and one threat, and rows of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sgbt.certify.certificate import CertificateRow, Verdict, verdict_of
from sgbt.certify.rows.comparison import TOLERANCE, RowComparison, compared
from sgbt.certify.rows.file import require_alike
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share


@dataclass(frozen=True, kw_only=True)
class ThreatCertificate(CertificateRow):
    """The verdict for one text under a threat (`sgbt.Threat`): deterministic, over every text that the threat allows.

    `margin` is a lower bound, over all those texts, of the label's logit minus the largest other one (of a text that is
    misclassified or that nothing can be done to: that difference itself). It counts above `slack`, the allowance for
    rounding. `words` are the text's own; `edits` says how many edges of its lattice are edits.
    """

    kind: ClassVar[str] = "threat"

    index: int
    verdict: Verdict
    label: int
    predicted: int
    margin: float
    slack: float
    words: int
    edits: int
    threat: str
    threat_hash: str
    model_hash: str
    text_hash: str
    milliseconds: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))
        right = self.predicted == self.label
        expected = verdict_of(right=right, free=self.edits > 0, proven=self.margin > self.slack)
        finite = math.isfinite(self.margin) and 0 <= self.slack < math.inf
        if self.verdict is not expected or not finite or min(self.index, self.label, self.words, self.edits) < 0:
            raise CertificateError(
                expected="a verdict that follows from label, prediction, edits, margin and slack",
                got=f"{self.verdict} with {self.edits} edits, margin {self.margin} and slack {self.slack}",
                where=f"text {self.index}",
            )


@dataclass(frozen=True)
class ThreatSummary:
    """The figures of many certificates, of all texts; the `vacuous`, to which nothing can be done, count apart."""

    threat: str
    clean: Share
    certified: Share
    abstained: Share
    vacuous: Share
    milliseconds: float
    """Of one text, on average."""

    @staticmethod
    def of(certificates: Sequence[ThreatCertificate]) -> ThreatSummary:
        """Count the verdicts; rows of several models or threats are refused."""
        if not certificates:
            raise CertificateError(expected="at least one certificate", got="none")
        require_alike(certificates, ThreatCertificate, ("model_hash", "threat_hash"), "a summary")
        total = len(certificates)
        counts = {verdict: sum(row.verdict is verdict for row in certificates) for verdict in Verdict}
        return ThreatSummary(
            threat=certificates[0].threat,
            clean=Share(total - counts[Verdict.MISCLASSIFIED], total),
            certified=Share(counts[Verdict.CERTIFIED], total),
            abstained=Share(counts[Verdict.ABSTAINED], total),
            vacuous=Share(counts[Verdict.VACUOUS], total),
            milliseconds=sum(row.milliseconds for row in certificates) / total,
        )


@compared.register
def _compared(row: ThreatCertificate, fresh: ThreatCertificate, by_tier: object = None) -> RowComparison:
    """Claims are compared up to `TOLERANCE`: sums are rounded in another order when other texts are beside a text."""
    nearly = TOLERANCE * (1 + abs(fresh.margin))
    for name in ("predicted", "words", "edits"):
        if getattr(row, name) != getattr(fresh, name):
            return RowComparison(f"{name} {getattr(row, name)}, where it is {getattr(fresh, name)}")
    if row.slack < fresh.slack * (1 - TOLERANCE):
        return RowComparison(f"a rounding slack of {row.slack:.3g}, where {fresh.slack:.3g} is needed")
    if row.margin > fresh.margin + nearly:
        return RowComparison(f"margin {row.margin:.9g}, where {fresh.margin:.9g} is proven")
    if row.certified and not fresh.certified and fresh.margin < fresh.slack - nearly:
        return RowComparison(f"{row.verdict}, where the proof says {fresh.verdict} with {fresh.margin:.9g}")
    return RowComparison(weaker=row.verdict is not fresh.verdict or row.margin < fresh.margin - nearly)
