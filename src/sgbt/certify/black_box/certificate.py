"""What is proven about one text and a callable over encoded text, and rows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from sgbt.certify.certificate import CertificateRow
from sgbt.certify.rows.comparison import TOLERANCE, RowComparison, compared
from sgbt.certify.rows.file import require_alike
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share

CLEAN, ENUMERATION, ADDITIVE = "clean", "enumeration", "additive"
METHODS = (CLEAN, ENUMERATION, ADDITIVE)


class Answer(StrEnum):
    """The five answers there are."""

    CERTIFIED = "certified"
    """Right, and right for every text of the threat: proven."""
    VACUOUS = "nothing-to-replace"
    """Right, and no substitution is allowed: there was nothing to prove."""
    BROKEN = "broken"
    """Right, and an allowed substitution changes the label: `witness` is such a text."""
    ABSTAINED = "abstained"
    """Right; whether a substitution changes that was not decided."""
    MISCLASSIFIED = "misclassified"
    """Wrong to begin with."""


@dataclass(frozen=True, kw_only=True)
class EncodedCertificate(CertificateRow):
    """One text's answer, deterministic: every text that an adversary can show the model was tried, or bounded.

    `margin` is the label's score minus the largest other one, at its least over everything tried (`method`
    "enumeration") or a lower bound of it ("additive"); it has to exceed `slack`, an allowance for a callable whose
    answers depend on the batch in their last digits. Of `words` words `replaceable` have substitutes, and `ambiguous`
    of them substitutes of another cluster; they make `combinations` texts (at most 2^53 is written). `queries` texts
    were asked about. All texts with at most `radius` words replaced keep the label (None: not known).
    """

    kind: ClassVar[str] = "proven"
    quotes: ClassVar[bool] = True
    digits: ClassVar[int] = 64

    index: int
    verdict: Answer
    label: int
    predicted: int
    margin: float
    slack: float
    method: str
    words: int
    replaceable: int
    ambiguous: int
    combinations: int
    queries: int
    max_queries: int
    model_hash: str
    encoder_hash: str
    table_hash: str
    text_hash: str
    max_substitutions: int | None = None
    radius: int | None = None
    witness: str | None = None
    milliseconds: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Answer(self.verdict))
        if fault := self._fault():
            raise CertificateError(
                expected="a certificate that does not contradict itself", got=fault, where=f"text {self.index}"
            )

    def _fault(self) -> str:
        right, free = self.predicted == self.label, self.replaceable > 0 and self.max_substitutions != 0
        if (self.verdict is Answer.MISCLASSIFIED) == right:
            return f"{self.verdict} with label {self.label} and prediction {self.predicted}"
        if right and (self.verdict is Answer.VACUOUS) == free:
            return f"{self.verdict} with {self.replaceable} replaceable words"
        if self.verdict is Answer.CERTIFIED and not self.margin > self.slack >= 0:
            return f"{self.verdict} with margin {self.margin} and slack {self.slack}"
        if (self.verdict is Answer.BROKEN) != (self.witness is not None):
            return f"{self.verdict} {'without' if self.witness is None else 'with'} a witness"
        if self.method not in METHODS or not 0 <= self.ambiguous <= self.replaceable <= self.words:
            return f"method {self.method}, {self.words} words, {self.replaceable}, {self.ambiguous}"
        if min(self.index, self.label, self.predicted, self.queries) < 0 or self.combinations < 1:
            return "a number below 0"
        return ""


@dataclass(frozen=True)
class EncodedSummary:
    """The figures of many certificates, of all texts."""

    clean: Share
    certified: Share
    broken: Share
    abstained: Share
    vacuous: Share
    queries: int
    milliseconds: float

    @staticmethod
    def of(certificates: Sequence[EncodedCertificate]) -> EncodedSummary:
        """Count the verdicts; rows of several questions, and statistical ones, are refused."""
        require_alike(
            certificates, EncodedCertificate, ("model_hash", "encoder_hash", "max_substitutions"), "a summary"
        )
        total = len(certificates)
        counts = {answer: sum(row.verdict is answer for row in certificates) for answer in Answer}
        return EncodedSummary(
            clean=Share(total - counts[Answer.MISCLASSIFIED], total),
            certified=Share(counts[Answer.CERTIFIED], total),
            broken=Share(counts[Answer.BROKEN], total),
            abstained=Share(counts[Answer.ABSTAINED], total),
            vacuous=Share(counts[Answer.VACUOUS], total),
            queries=sum(row.queries for row in certificates),
            milliseconds=sum(row.milliseconds for row in certificates),
        )


@compared.register
def _compared(row: EncodedCertificate, fresh: EncodedCertificate, by_tier: Callable[[str], object]) -> RowComparison:
    """Answers may differ by the slack, which is for callables whose last digits depend on the batch."""
    for name in ("predicted", "words", "replaceable", "ambiguous", "combinations"):
        if getattr(row, name) != getattr(fresh, name):
            return RowComparison(f"{name} {getattr(row, name)}, where it is {getattr(fresh, name)}")
    witness = row.method == fresh.method and row.witness != fresh.witness
    if witness or (row.verdict is not fresh.verdict and row.verdict is not Answer.ABSTAINED):
        return RowComparison(f"{row.verdict}, where the answer is {fresh.verdict}")
    nearly = row.slack + TOLERANCE * (1 + abs(row.margin))
    if row.margin > fresh.margin + nearly:
        return RowComparison(f"margin {row.margin:.9g}, where it is {fresh.margin:.9g}")
    if row.radius is not None and (fresh.radius is None or row.radius > fresh.radius):
        return RowComparison(f"radius {row.radius}, where it is {fresh.radius}")
    return RowComparison(weaker=row.verdict is not fresh.verdict or row.margin < fresh.margin - nearly)
