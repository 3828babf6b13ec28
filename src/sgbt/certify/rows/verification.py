"""verify: every row of a file of certificates is proven again, or the first that says what is not so is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from sgbt.attacks.result import AttackResult
from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.certifying import certify
from sgbt.certify.prepared import Prepared, prepared_of
from sgbt.certify.read_texts import hash_of_text
from sgbt.certify.rows.attacked import AttackedShares, RowsApart, check_attacks
from sgbt.certify.rows.comparison import RowComparison, Sample, compared, drawn_seed, forged, sampled
from sgbt.certify.rows.file import require_each_once
from sgbt.core.errors import CertificateError
from sgbt.data import Split
from sgbt.models import Identity, Naming, TextClassifier, identity_of
from sgbt.threats import SubstitutionTable

AT_ONCE = 256
"""Rows that are proven again together; a lie ends the work after those."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and found true.

    Of all `rows`, identity, table, text and, where labels are known, label were compared; `reproven` of them were
    proven again, drawn by `seed` where that is not all. `weaker` of those claim less than can be proven.
    `weights_alone` rows are of earlier versions, and name the weights of their model alone; `earlier` of those proven
    again state a smaller slack, another tier, or a larger bound of an undecided text, than this version proves, and
    keep their verdict. `studies` are rows with a scale below one: they are true of vectors, and prove nothing about
    texts. `vacuous` rows say that nothing may be replaced. `attack_rows` were replayed;
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
    attacked: tuple[AttackedShares, ...]
    apart: tuple[RowsApart, ...] = ()


def verify(
    classifier: TextClassifier | Prepared,
    certificates: Sequence[Certificate],
    texts: Split | Sequence[str] | Mapping[int, str],
    table: SubstitutionTable | None = None,
    *,
    labels: Sequence[int] | Mapping[int, int] | None = None,
    attacks: Sequence[AttackResult] = (),
    sample: Sample = None,
    seed: int | None = None,
    where: str = "the certificates",
    listener: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> Verified:
    """Prove rows again, and raise `ForgedRowError` on the first that says what is not so.

    `texts` are numbered as the rows' `index`; `labels`, which a split has, are compared with those of the rows. Cheap
    checks are made of every row: identity of the model, hash of the table, hash of the text, label. With a `sample`, a
    number or a share of the rows is proven again; otherwise all are, each with its own tiers, budget and scale. The
    sample is drawn by `seed`, by default one that nobody can foresee. Rows of `attacks` are replayed
    (`check_attacks`), and compared with the certificates of the same texts: none breaks a certified one, and
    certified <= robust <= clean.
    """
    if not certificates:
        raise CertificateError(expected="at least one certificate", got="none", where=where, remedy="certify first")
    for row in certificates:
        if not isinstance(row, Certificate):
            raise CertificateError(
                expected="certificates of substitutions",
                got=f"one of kind {getattr(row, 'kind', type(row).__name__)!r}",
                where=where,
                remedy="rows against a threat are verified by sgbt.certify.edits.verify_against",
            )
    require_each_once(certificates, where)
    prepared = prepared_of(classifier, table)
    known = _numbered(texts.texts if isinstance(texts, Split) else texts)
    if labels is None and isinstance(texts, Split):
        labels = texts.labels.tolist()
    numbered_labels = None if labels is None else _numbered(labels)
    own = identity_of(prepared.classifier)
    names = [_check_row(row, own, prepared.table.hash, known, numbered_labels, where) for row in certificates]
    if sample is not None and seed is None:
        seed = drawn_seed()
    chosen = sampled(certificates, sample, seed or 0)
    found: list[RowComparison] = []
    for rows in _together(chosen):
        found += _proven_again(prepared, rows, known, threads, where)
        if listener:
            listener(len(found), len(chosen))
    beside = check_attacks(prepared, certificates, attacks, known, numbered_labels)
    return Verified(
        rows=len(certificates),
        studies=sum(row.study for row in certificates),
        vacuous=sum(row.verdict is Verdict.VACUOUS for row in certificates),
        reproven=len(chosen),
        seed=None if sample is None else seed,
        weaker=sum(each.weaker for each in found),
        earlier=sum(each.earlier for each in found),
        weights_alone=sum(name is Naming.WEIGHTS for name in names),
        labels=labels is not None,
        attack_rows=len(attacks),
        attacked=beside.shares,
        apart=beside.apart,
    )


def _proven_again(
    prepared: Prepared, rows: Sequence[Certificate], texts: Mapping[int, str], threads: int | None, where: str
) -> list[RowComparison]:
    """Rows of the same settings beside fresh proofs of their texts; the first that claims too much is an error."""

    def proven(some: Sequence[Certificate], tiers: Sequence[str]) -> list[Certificate]:
        return certify(
            prepared,
            [texts[row.index] for row in some],
            labels=[row.label for row in some],
            tiers=tiers,
            max_substitutions=rows[0].max_substitutions,
            scale=rows[0].scale,
            threads=threads,
        )

    def by_tier(row: Certificate, tier: str) -> Certificate:
        return proven([row], (tier,))[0]

    found = []
    for row, proof in zip(rows, proven(rows, rows[0].tiers), strict=True):
        found.append(compared(row, proof, partial(by_tier, row)))
        if found[-1].fault:
            raise forged(row.index, found[-1].fault, where)
    return found


def _check_row(
    row: Certificate,
    own: Identity,
    table_hash: str,
    texts: Mapping[int, str],
    labels: Mapping[int, int] | None,
    where: str,
) -> Naming:
    """What needs no proof: that the row is about this model, this table, and the text and label at its index."""
    naming = own.named_by(row.model_hash)
    if naming is Naming.OTHER:
        raise forged(row.index, f"the model {row.model_hash[:12]}, where it is {own.hash[:12]}", where)
    if row.table_hash != table_hash:
        raise forged(row.index, f"the table {row.table_hash[:12]}, where it is {table_hash[:12]}", where)
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
    return naming


def _numbered(values: Sequence[Any] | Mapping[int, Any]) -> Mapping[int, Any]:
    return values if isinstance(values, Mapping) else dict(enumerate(values))


def _together(rows: Sequence[Certificate]) -> list[list[Certificate]]:
    """Rows that one call can prove again: of the same settings, and not too many."""
    groups = []
    for _, alike in groupby(rows, key=lambda row: (row.tiers, row.max_substitutions, row.scale)):
        group = list(alike)
        groups += [group[start : start + AT_ONCE] for start in range(0, len(group), AT_ONCE)]
    return groups
