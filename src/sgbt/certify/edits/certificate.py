"""ThreatCertificate: what is proven about one text and one threat, and rows of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sgbt.certify.certificate import Verdict, verdict_of
from sgbt.core import rows
from sgbt.core.errors import CertificateError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.shares import Share


@dataclass(frozen=True, kw_only=True)
class ThreatCertificate:
    """One text's answer under a threat (`sgbt.Threat`): deterministic, over every text that the threat allows.

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

    @property
    def certified(self) -> bool:
        """Whether the label is proven to stay, and something can be done to the text."""
        return self.verdict is Verdict.CERTIFIED

    @property
    def stays(self) -> bool:
        """Whether nothing that the threat allows changes the label: that is proven, or it allows nothing."""
        return self.verdict in (Verdict.CERTIFIED, Verdict.VACUOUS)

    def to_row(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {"kind": self.kind, **values, "verdict": str(self.verdict)}


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
        for row in certificates:
            for name in ("model_hash", "threat_hash"):
                if getattr(row, name) != getattr(certificates[0], name):
                    raise CertificateError(expected=f"one {name} for all rows", got="two", where=f"text {row.index}")
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


def read_threat_rows(path: str | Path) -> list[ThreatCertificate]:
    """The certificates of a file, by index."""
    return sorted(rows.read_rows(path, THREAT_ROWS), key=lambda row: row.index)


def _read(fields: Mapping[str, Any]) -> ThreatCertificate:
    fields = dict(fields)
    if (kind := fields.pop("kind", None)) != ThreatCertificate.kind:
        raise CertificateError(expected="a row of kind threat", got=repr(kind))
    refuse_odd_fields(ThreatCertificate, fields, kind=CertificateError, where="")
    return ThreatCertificate(**fields)


THREAT_ROWS = rows.RowKind(
    name="certificate against a threat",
    error=CertificateError,
    write=lambda row: json.dumps(row.to_row(), ensure_ascii=False, allow_nan=False),
    read=_read,
    key=lambda row: row.index,
    title=lambda row: f"text {row.index}",
    begin=b'{"kind": "threat"',
)
