"""Rows of attacks beside certificates of the same texts: each is asked of the model again, and none contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.consistency import BROKEN, check_consistent
from sgbt.certify.prepared import Prepared
from sgbt.errors import CertificateError, ForgedRowError
from sgbt.lexicon import SubstitutionTable
from sgbt.models import TextClassifier
from sgbt.shares import Share

SKIPPED = "skipped"
"""How an attack says that the text was misclassified to begin with."""


@dataclass(frozen=True, slots=True)
class AttackedShares:
    """What certificates and the rows of one method say of the texts that both have: certified <= robust <= clean."""

    method: str
    clean: Share
    robust: Share
    certified: Share


def check_attacks(
    prepared: Prepared, certificates: Sequence[Certificate], attacks: Sequence[Any], texts: Mapping[int, str]
) -> tuple[AttackedShares, ...]:
    """That attack rows are true of the model and contradict no certificate; shares by method on equal texts.

    Rows with swaps that the certificates' table does not have are of another threat, and are left out of comparisons,
    as are those that replaced more words than a certificate's budget.
    """
    check_true(prepared.classifier, attacks, where="the attack rows")
    proofs = {proof.index: proof for proof in certificates}
    both = [row for row in attacks if row.index in proofs and _same_threat(proofs[row.index], row, prepared.table)]
    for row in both:
        if texts.get(row.index, row.original) != row.original:
            raise _lie(row, "another text", "that of the certificate")
        if (row.status == SKIPPED) != (proofs[row.index].verdict is Verdict.MISCLASSIFIED):
            raise _lie(row, f"status {row.status}", f"the certificate's verdict {proofs[row.index].verdict}")
    try:
        check_consistent(certificates, both)
    except CertificateError as problem:
        raise ForgedRowError(
            wanted=problem.wanted, got=problem.got, where=problem.where, remedy=problem.remedy
        ) from problem
    methods = dict.fromkeys(row.method for row in both)
    return tuple(_shares(method, [row for row in both if row.method == method], proofs) for method in methods)


def check_true(classifier: TextClassifier, attacks: Sequence[Any], *, where: str) -> None:
    """That every attack row names this model, or none, and says of its texts what the model says."""
    own = classifier.identity
    for row in attacks:
        if row.model_hash not in ("", own):  # rows of earlier versions do not say
            raise ForgedRowError(
                wanted=f"attacks on the model with identity {own[:12]}",
                got=f"one on {row.model_hash[:12]}",
                where=where,
                remedy="attack this model",
            )
    if not attacks:
        return
    before = classifier.predict([row.original for row in attacks]).probabilities.argmax(axis=1)
    after = classifier.predict([row.perturbed for row in attacks]).probabilities.argmax(axis=1)
    for row, first, last in zip(attacks, before.tolist(), after.tolist(), strict=True):
        if first != row.predicted or (row.status in BROKEN and last != row.after):
            raise ForgedRowError(
                wanted="attacks on this model",
                got=f"a row for text {row.index} that it contradicts",
                where=where,
                remedy="attack this model",
            )


def _same_threat(proof: Certificate, row: Any, table: SubstitutionTable) -> bool:
    """Whether the attack did only what the certificate is about."""
    if row.table_hash not in ("", table.hash) or proof.scale < 1:
        return False
    allowed = all(swap.new in table.substitutes(swap.old) for swap in row.swaps)
    return allowed and (proof.max_substitutions is None or len(row.swaps) <= proof.max_substitutions)


def _shares(method: str, rows: Sequence[Any], proofs: Mapping[int, Certificate]) -> AttackedShares:
    clean = sum(row.status != SKIPPED for row in rows)
    robust = sum(row.status not in (SKIPPED, *BROKEN) for row in rows)
    certified = sum(proofs[row.index].stays for row in rows)
    if not certified <= robust <= clean:
        raise ForgedRowError(
            wanted="certified <= robust <= clean on the same texts",
            got=f"{certified}, {robust} and {clean} of {len(rows)} against {method}",
            remedy="check both files of rows",
        )
    return AttackedShares(method, *(Share(count, len(rows)) for count in (clean, robust, certified)))


def _lie(row: Any, said: str, found: str) -> ForgedRowError:
    return ForgedRowError(
        wanted=f"an attack row for text {row.index} with {found}", got=said, where=f"the rows of {row.method}"
    )
