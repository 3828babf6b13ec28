"""What is proven about one text and a callable over encoded text, and rows of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

from sgbt.core import rows
from sgbt.core.errors import CertificateError
from sgbt.core.fields import refuse_odd_fields
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
class EncodedCertificate:
    """One text's answer, deterministic: every text that an adversary can show the model was tried, or bounded.

    `margin` is the label's score minus the largest other one, at its least over everything tried (`method`
    "enumeration") or a lower bound of it ("additive"); it has to exceed `slack`, an allowance for a callable whose
    answers depend on the batch in their last digits. Of `words` words `replaceable` have substitutes, and `ambiguous`
    of them substitutes of another cluster; they make `combinations` texts (at most 2^53 is written). `queries` texts
    were asked about. All texts with at most `radius` words replaced keep the label (None: not known).
    """

    kind: ClassVar[str] = "proven"

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

    @property
    def certified(self) -> bool:
        """Whether the label is proven to stay, and something can be replaced."""
        return self.verdict is Answer.CERTIFIED

    @property
    def stays(self) -> bool:
        """Whether no allowed substitution changes the label: that is proven, or there is none."""
        return self.verdict in (Answer.CERTIFIED, Answer.VACUOUS)

    def to_row(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__}
        margin = self.margin if math.isfinite(self.margin) else None
        return {"kind": self.kind, **row, "verdict": str(self.verdict), "margin": margin}


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
        require_one_question(certificates)
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


def require_one_question(certificates: Sequence[Any]) -> None:
    """Raise where rows are not all proofs, or not all about one model, encoder and limit."""
    for row in certificates:
        if not isinstance(row, EncodedCertificate):
            raise CertificateError(
                expected="proofs alone",
                got=f"a {getattr(row, 'kind', type(row).__name__)} certificate",
                remedy="a table of proofs has no statistical column; summarise those apart",
            )
        for name in ("model_hash", "encoder_hash", "max_substitutions"):
            if getattr(row, name) != getattr(certificates[0], name):
                raise CertificateError(
                    expected=f"one {name.replace('_', ' ')} for all rows",
                    got=f"{getattr(certificates[0], name)} and {getattr(row, name)}",
                    where=f"text {row.index}",
                )


def read_encoded(path: str | Path) -> list[EncodedCertificate]:
    """The certificates of a file, by index."""
    return sorted(rows.read_rows(path, ENCODED), key=lambda row: row.index)


def _read(fields: Mapping[str, Any]) -> EncodedCertificate:
    fields = dict(fields)
    if (kind := fields.pop("kind", None)) != EncodedCertificate.kind:
        raise CertificateError(expected="a row of kind proven", got=repr(kind))
    refuse_odd_fields(EncodedCertificate, fields, kind=CertificateError, where="")
    return EncodedCertificate(**fields | {"margin": -math.inf if fields["margin"] is None else fields["margin"]})


ENCODED = rows.RowKind(
    name="certificate of an encoded text",
    error=CertificateError,
    write=lambda row: json.dumps(row.to_row(), ensure_ascii=False, allow_nan=False),
    read=_read,
    key=lambda row: row.index,
    title=lambda row: f"text {row.index}",
    begin=b'{"kind": "proven"',
    surrogates=True,
)
