"""verify: every row of a file of certificates is proven again, or the first false one is named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sgbt.attacks.result import AttackResult
from sgbt.certify.certificate import Certificate, CertificateRow, Verdict
from sgbt.certify.certifying import prover_of
from sgbt.certify.prepared import Prepared, prepared_of
from sgbt.certify.rows.attacked import AttackedShares, CheckedAttacks, RowsApart, check_attacks
from sgbt.certify.rows.comparison import RowComparison, Sample, drawn_seed, forged, sampled
from sgbt.certify.rows.file import require_each_once
from sgbt.certify.rows.running import Claims, Prover, claims_of
from sgbt.core.errors import CertificateError
from sgbt.data import Split
from sgbt.models import Identity, Naming, TextClassifier, covers_weights_alone, identity_of
from sgbt.threats import SubstitutionTable

AT_ONCE = 256
"""Rows that are proven again together; the first that is forged ends the work after those."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and found true.

    Of all `rows`, the `subject` (model, and table, threat or encoder), text and, where labels are known, label were
    compared; `reproven` of them were proven again, drawn by `seed` where that is not all. `weaker` of those claim less
    than can be proven. `weights_alone` rows are of earlier versions, and name the weights of their model alone;
    `earlier` of those proven again state a smaller slack, another tier, or a larger bound of an undecided text, than
    this version proves, and keep their verdict. `studies` are rows with a scale below one: they are true of vectors,
    and prove nothing about texts. `vacuous` rows say that nothing may be replaced. `attack_rows` were replayed;
    `attacked` counts those of the same threat as the certificates, and `apart` names the others.
    """

    rows: int
    studies: int
    vacuous: int
    reproven: int
    seed: int | None
    weaker: int
    earlier: int
    weights_alone: int
    labels: bool
    attack_rows: int
    subject: str
    attacked: tuple[AttackedShares, ...]
    apart: tuple[RowsApart, ...] = ()


def verify(
    model: Any,
    certificates: Sequence[CertificateRow],
    texts: Split | Sequence[str] | Mapping[int, str],
    against: Any = None,
    *,
    labels: Sequence[int] | Mapping[int, int] | None = None,
    attacks: Sequence[AttackResult] = (),
    sample: Sample = None,
    seed: int | None = None,
    where: str = "the certificates",
    listener: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> Verified:
    """Prove rows again, and raise `ForgedRowError` on the first false one.

    Input: a classifier and the table (by default its own) or the threat that rows are against; or a callable and its
    encoder. `texts` are numbered as the rows' `index`; `labels`, which a split has, are compared with those of the
    rows. Cheap checks are made of every row: identity of the model, hash of the table, threat or encoder, hash of the
    text, label. With a `sample`, a number or a share of the rows is proven again; otherwise all are, each with its own
    settings. The sample is drawn by `seed`, by default one that nobody can foresee. Rows of `attacks` are replayed
    (`check_attacks`), and compared with the certificates of the same texts: none breaks a certified one, and
    certified <= robust <= clean.
    """
    _require_one_kind(certificates, where)
    require_each_once(certificates, where)
    claims = claims_of(certificates[0], model, against, threads)
    known = _numbered(texts.texts if isinstance(texts, Split) else texts)
    if labels is None and isinstance(texts, Split):
        labels = texts.labels.tolist()
    numbered_labels = None if labels is None else _numbered(labels)
    for row in certificates:
        _check_row(row, claims, known, numbered_labels, where)
    if sample is not None and seed is None:
        seed = drawn_seed()
    chosen = sampled(certificates, sample, seed or 0)
    found: list[RowComparison] = []
    for rows in _together(chosen, claims.settings):
        prover = claims.prover(rows[0], [known[row.index] for row in rows], [row.label for row in rows])
        found += prover.compared(dict(enumerate(rows)), where)
        if listener:
            listener(len(found), len(chosen))
    beside = claims.attacks(certificates, attacks, known, numbered_labels)
    return Verified(
        rows=len(certificates),
        studies=sum(getattr(row, "study", False) for row in certificates),
        vacuous=sum(row.verdict == Verdict.VACUOUS for row in certificates),
        reproven=len(chosen),
        seed=None if sample is None else seed,
        weaker=sum(each.weaker for each in found),
        earlier=sum(each.earlier for each in found),
        weights_alone=sum(claims.weights_alone(row) for row in certificates),
        labels=labels is not None,
        attack_rows=len(attacks),
        subject=claims.subject,
        attacked=beside.shares,
        apart=beside.apart,
    )


@dataclass(frozen=True)
class _SubstitutionClaims(Claims[Certificate]):
    prepared: Prepared
    own: Identity
    threads: int | None

    def fault(self, row: Certificate) -> str:
        if self.own.named_by(row.model_hash) is Naming.OTHER:
            return f"the model {row.model_hash[:12]}, where it is {self.own.hash[:12]}"
        table = self.prepared.table.hash
        return "" if row.table_hash == table else f"the table {row.table_hash[:12]}, where it is {table[:12]}"

    def weights_alone(self, row: Certificate) -> bool:
        return covers_weights_alone(row.model_hash)

    def settings(self, row: Certificate) -> Hashable:
        return row.tiers, row.max_substitutions, row.scale

    def prover(self, like: Certificate, texts: Sequence[str], labels: Sequence[int]) -> Prover[Certificate]:
        settings = like.tiers, like.max_substitutions
        return prover_of(self.prepared, texts, labels, *settings, scale=like.scale, threads=self.threads)

    def attacks(
        self,
        rows: Sequence[Certificate],
        attacks: Sequence[AttackResult],
        texts: Mapping[int, str],
        labels: Mapping[int, int] | None,
    ) -> CheckedAttacks:
        return check_attacks(self.prepared.classifier, rows, attacks, self.prepared.table, texts, labels)


@claims_of.register
def _claims(row: Certificate, model: Any, against: Any, threads: int | None) -> Claims[Certificate]:
    if not isinstance(model, TextClassifier | Prepared) or not isinstance(against, SubstitutionTable | None):
        raise CertificateError(
            expected="a classifier, and the table that rows of substitutions are against",
            got=f"a {type(model).__name__} and {type(against).__name__}",
            where="verify",
        )
    prepared = prepared_of(model, against)
    return _SubstitutionClaims(prepared, identity_of(prepared.classifier), threads)


def _require_one_kind(certificates: Sequence[CertificateRow], where: str) -> None:
    if not certificates:
        raise CertificateError(expected="at least one certificate", got="none", where=where, remedy="certify first")
    first = certificates[0]
    for row in certificates:
        if type(row) is not type(first):
            kind, other = (getattr(each, "kind", type(each).__name__) for each in (first, row))
            raise CertificateError(expected=f"certificates of kind {kind}", got=f"one of kind {other!r}", where=where)


def _check_row(
    row: CertificateRow, claims: Claims[Any], texts: Mapping[int, str], labels: Mapping[int, int] | None, where: str
) -> None:
    """What needs no proof: that the row is about this model, this threat, and the text and label at its index."""
    if fault := claims.fault(row):
        raise forged(row.index, fault, where)
    if row.index not in texts:
        raise CertificateError(
            expected=f"the text of row {row.index}",
            got=f"{len(texts):,} texts without it",
            where=where,
            remedy="give the texts that were certified (--data, --split or --texts)",
        )
    if row.text_hash != row.hash_of(texts[row.index]):
        raise forged(row.index, "the hash of another text (were these the data and the split?)", where)
    if labels is not None and row.label != labels.get(row.index):
        raise forged(row.index, f"label {row.label}, where it is {labels.get(row.index)}", where)


def _numbered(values: Sequence[Any] | Mapping[int, Any]) -> Mapping[int, Any]:
    return values if isinstance(values, Mapping) else dict(enumerate(values))


def _together(rows: Sequence[Any], settings: Callable[[Any], Hashable]) -> list[list[Any]]:
    """Rows that one call can prove again: of the same settings, and not too many."""
    groups = []
    for _, alike in groupby(rows, key=settings):
        group = list(alike)
        groups += [group[start : start + AT_ONCE] for start in range(0, len(group), AT_ONCE)]
    return groups
