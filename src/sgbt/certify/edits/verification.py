"""verify_against: every row of a file of certificates against a threat is proven again, or the first lie is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sgbt.certify.certificate import Verdict
from sgbt.certify.edits.certificate import ThreatCertificate
from sgbt.certify.edits.certifying import certify_against
from sgbt.certify.read_texts import hash_of_text
from sgbt.certify.rows.comparison import TOLERANCE, Sample, drawn_seed, forged, sampled
from sgbt.certify.rows.file import require_each_once
from sgbt.core.errors import CertificateError
from sgbt.models import TextClassifier
from sgbt.threats import Threat

AT_ONCE = 256
"""Rows that are proven again together; a lie ends the work after those."""


@dataclass(frozen=True, slots=True)
class VerifiedThreat:
    """What was checked, and found true: of all `rows`, `reproven` were proven again, drawn by `seed` if not all.

    Of these `weaker` claim less than can be proven. `vacuous` rows say that nothing can be done to their text; `labels`
    says whether labels were compared with the data's.
    """

    rows: int
    vacuous: int
    reproven: int
    seed: int | None
    weaker: int
    labels: bool


def verify_against(
    classifier: TextClassifier,
    rows: Sequence[ThreatCertificate],
    texts: Mapping[int, str],
    threat: Threat,
    *,
    labels: Mapping[int, int] | None = None,
    sample: Sample = None,
    seed: int | None = None,
    where: str = "the certificates",
    listener: Callable[[int, int], None] | None = None,
) -> VerifiedThreat:
    """Prove rows again, and raise `ForgedRowError` on the first that says what is not so.

    Identity of the model, threat, text and, where they are known, label are compared for every row; margin, verdict,
    slack and counts for all, or for a `sample` that is drawn by `seed`, by default one that nobody can foresee.
    """
    if not rows:
        raise CertificateError(expected="at least one certificate", got="none", where=where, remedy="certify first")
    require_each_once(rows, where)
    for row in rows:
        _check_row(row, classifier.identity, threat, texts, labels, where)
    if sample is not None and seed is None:
        seed = drawn_seed()
    chosen, weaker = sampled(rows, sample, seed or 0), 0
    for begin in range(0, len(chosen), AT_ONCE):
        some = chosen[begin : begin + AT_ONCE]
        again = certify_against(
            classifier, [texts[row.index] for row in some], threat, labels=[row.label for row in some]
        )
        for row, fresh in zip(some, again, strict=True):
            if fault := fault_of(row, fresh):
                raise forged(row.index, fault, where)
            weaker += row.verdict is not fresh.verdict or row.margin < fresh.margin - _nearly(fresh)
        if listener:
            listener(begin + len(some), len(chosen))
    vacuous = sum(row.verdict is Verdict.VACUOUS for row in rows)
    return VerifiedThreat(len(rows), vacuous, len(chosen), None if sample is None else seed, weaker, labels is not None)


def fault_of(row: ThreatCertificate, fresh: ThreatCertificate) -> str:
    """What a row claims beyond a proof that was made just now of the same text, label and threat, if anything."""
    for name in ("predicted", "words", "edits"):
        if getattr(row, name) != getattr(fresh, name):
            return f"{name} {getattr(row, name)}, where it is {getattr(fresh, name)}"
    if row.slack < fresh.slack * (1 - TOLERANCE):
        return f"a rounding slack of {row.slack:.3g}, where {fresh.slack:.3g} is needed"
    if row.margin > fresh.margin + _nearly(fresh):
        return f"margin {row.margin:.9g}, where {fresh.margin:.9g} is proven"
    if row.certified and not fresh.certified and fresh.margin < fresh.slack - _nearly(fresh):
        return f"{row.verdict}, where the proof says {fresh.verdict} with {fresh.margin:.9g}"
    return ""


def _nearly(fresh: ThreatCertificate) -> float:
    """Sums are rounded in another order when other texts are beside it."""
    return TOLERANCE * (1 + abs(fresh.margin))


def _check_row(
    row: ThreatCertificate,
    identity: str,
    threat: Threat,
    texts: Mapping[int, str],
    labels: Mapping[int, int] | None,
    where: str,
) -> None:
    """What needs no proof: that the row is about this model, this threat, and the text and label at its index."""
    if row.model_hash != identity:
        raise forged(row.index, f"the model {row.model_hash[:12]}, where it is {identity[:12]}", where)
    if (row.threat_hash, row.threat) != (threat.hash, threat.name):  # the name is what summaries show
        said = f"the threat {row.threat!r} with hash {row.threat_hash[:12]}"
        raise forged(row.index, f"{said}, where {threat.name!r} has {threat.hash[:12]}", where)
    if row.index not in texts:
        raise CertificateError(
            expected=f"the text of row {row.index}",
            got=f"{len(texts):,} texts without it",
            where=where,
            remedy="give the texts that were certified (--data, --split or --texts)",
        )
    if row.text_hash != hash_of_text(texts[row.index]):
        raise forged(row.index, "the hash of another text (were these the data and the split?)", where)
    if labels is not None and row.label != labels.get(row.index):
        raise forged(row.index, f"label {row.label}, where it is {labels.get(row.index)}", where)
