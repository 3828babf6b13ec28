"""Rows of attacks beside certificates of the same texts: none contradicts, and only one threat is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sgbt.attacks.result import FAILED, SKIPPED, AttackResult, in_series
from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.consistency import check_consistent
from sgbt.certify.prepared import Prepared
from sgbt.certify.true_rows import check_true, contradicted
from sgbt.core.errors import AttackError, CertificateError, ForgedRowError
from sgbt.core.shares import Share
from sgbt.threats import SubstitutionTable

WHERE = "the attack rows"


@dataclass(frozen=True, slots=True)
class AttackedShares:
    """What certificates and the rows of one attack say of the texts that both have: certified <= robust <= clean.

    `method` is the attack with its unusual settings; there are `certificates` for so many texts.
    """

    method: str
    clean: Share
    robust: Share
    certified: Share
    certificates: int


@dataclass(frozen=True, slots=True)
class RowsApart:
    """Rows of one attack that are in no share, and why."""

    method: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class Attacked:
    """What attack rows come to beside certificates: shares of those compared, and those that were not."""

    shares: tuple[AttackedShares, ...] = ()
    apart: tuple[RowsApart, ...] = ()


def check_attacks(
    prepared: Prepared,
    certificates: Sequence[Certificate],
    attacks: Sequence[AttackResult],
    texts: Mapping[int, str],
    labels: Mapping[int, int] | None = None,
) -> Attacked:
    """That attack rows are true of the model and contradict no certificate; shares by attack on equal texts.

    Rows of one attack are counted together or not at all, for leaving out those that broke a text would flatter: they
    are apart where they name another table than the certificates, or none, and where one replaced more words than the
    certificates' budget.
    """
    table = prepared.table
    check_true(prepared.classifier, attacks, table, texts=texts, labels=labels, where=WHERE)
    proofs = {proof.index: proof for proof in certificates}
    for row in attacks:
        if row.index in proofs and (row.status == SKIPPED) != (proofs[row.index].verdict is Verdict.MISCLASSIFIED):
            said = f"status {row.status}, where the certificate says {proofs[row.index].verdict}"
            raise contradicted(row, said, WHERE)
    try:
        check_consistent(certificates, [row for row in attacks if _within(row, table)])
        series = in_series(attacks)
    except (CertificateError, AttackError) as problem:
        kind = ForgedRowError if isinstance(problem, CertificateError) else CertificateError
        raise kind(expected=problem.expected, got=problem.got, where=problem.where, remedy=problem.remedy) from problem
    shares, apart = [], []
    for rows in series:
        both = [row for row in rows if row.index in proofs]
        title, reason = rows[0].title, _other_threat(both, proofs, table)
        if reason:
            apart.append(RowsApart(title, len(rows), reason))
            continue
        if len(both) < len(rows):
            apart.append(RowsApart(title, len(rows) - len(both), "on texts without a certificate"))
        if both:
            shares.append(_shares(title, both, proofs))
    return Attacked(tuple(shares), tuple(apart))


def _within(row: AttackResult, table: SubstitutionTable) -> bool:
    """Whether every swap is one of the table, whichever table the attack had."""
    return all(swap.new in table.substitutes(swap.old) for swap in row.swaps)


def _other_threat(rows: Sequence[AttackResult], proofs: Mapping[int, Certificate], table: SubstitutionTable) -> str:
    """Why the rows of one attack are not about what the certificates are about, if so."""
    if not rows:
        return ""
    if not rows[0].table_hash:
        return "of an earlier version, which do not name their table"
    if rows[0].table_hash != table.hash:
        return f"within another table, {rows[0].table_hash[:12]}"
    own = [(row, proofs[row.index]) for row in rows]
    if any(proof.scale < 1 for _, proof in own):
        return "beside certificates of a study with a scale below 1, which are not about words"
    if any(proof.max_substitutions is not None and len(row.swaps) > proof.max_substitutions for row, proof in own):
        return "with more words than the budget of the certificates replaced"
    return ""


def _shares(title: str, rows: Sequence[AttackResult], proofs: Mapping[int, Certificate]) -> AttackedShares:
    clean = sum(row.status != SKIPPED for row in rows)
    robust = sum(row.status == FAILED for row in rows)
    certified = sum(proofs[row.index].stays for row in rows)
    if not certified <= robust <= clean:
        raise ForgedRowError(
            expected="certified <= robust <= clean on the same texts",
            got=f"{certified}, {robust} and {clean} of {len(rows)} against {title}",
            remedy="check both files of rows",
        )
    of = len(rows)
    return AttackedShares(title, Share(clean, of), Share(robust, of), Share(certified, of), len(proofs))
