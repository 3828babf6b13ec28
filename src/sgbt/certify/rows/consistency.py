"""A certificate and a successful attack on the same text contradict each other; a contradiction stops the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sgbt.certify.certificate import Certificate
from sgbt.certify.edits.certificate import ThreatCertificate
from sgbt.core.errors import CertificateError
from sgbt.models import covers_weights_alone

BROKEN = ("succeeded", "success", "successful", "broken")
"""How an attack says that it changed the label."""


def check_consistent(certificates: Iterable[Certificate | ThreatCertificate], attack_results: Iterable[Any]) -> int:
    """Raise on the first certified text that an attack broke; otherwise return how many certified texts were attacked.

    A text of which the certificate says that nothing can be replaced is not certified, but cannot be broken either.
    A certificate with a `scale` below one is about other vectors than those of words, and no attack contradicts it.

    An attack result needs a `status`, and names its text by an attribute `index`; one without is about the certificate
    at the same place in its sequence. Where it counts its swaps, an attack that replaced more words than a certificate
    is about contradicts nothing. A result is compared with a certificate of the same table alone: where it names
    another (`table_hash`, or `threat_hash` of a threat beyond substitutions), neither says anything of the other.
    """
    proofs = list(certificates)
    by_index = {proof.index: proof for proof in proofs}
    compared = 0
    for place, result in enumerate(attack_results):
        index = getattr(result, "index", None)
        if index is None and place >= len(proofs):
            raise CertificateError(
                expected="a certificate for each attack result", got=f"only {len(proofs)}", where="check_consistent"
            )
        proof = proofs[place] if index is None else by_index.get(int(index))
        if proof is None:
            continue
        if _other_table(proof, result):
            continue
        _check_model(proof, result)
        if not proof.stays or (isinstance(proof, Certificate) and proof.study):
            continue
        compared += proof.certified
        if _broken(result) and not _beyond(proof, result):
            raise CertificateError(
                expected=f"text {proof.index} unbroken, as {_why(proof)}",
                got=f"one that did: {_shown(result)}",
                where="check_consistent",
                remedy="check that both used one model and one table or threat; otherwise this is a bug in sgbt",
            )
    return compared


def _why(proof: Certificate | ThreatCertificate) -> str:
    if isinstance(proof, ThreatCertificate):
        said = f"certified with margin {proof.margin:.3g}" if proof.certified else "nothing can be done to it"
        return f"{said} within {proof.threat}"
    if proof.certified:
        return f"certified by {proof.tier} with margin {proof.margin:.3g}"
    return "none of its words may be replaced"


def _check_model(proof: Certificate | ThreatCertificate, result: Any) -> None:
    """That both are about one model, where both name it by its identity."""
    named = proof.model_hash, str(getattr(result, "model_hash", ""))
    if named[0] != named[1] and not any(map(covers_weights_alone, named)):
        raise CertificateError(
            expected=f"attacks on the model that was certified, {named[0][:12]}",
            got=f"one on {named[1][:12]} for text {proof.index}",
            where="check_consistent",
            remedy="certify and attack one model",
        )


def _other_table(proof: Certificate | ThreatCertificate, result: Any) -> bool:
    threats = getattr(proof, "threat_hash", ""), str(getattr(result, "threat_hash", ""))
    if isinstance(proof, ThreatCertificate) or threats[1]:
        return threats[0] != threats[1]
    named = str(getattr(result, "table_hash", ""))
    return bool(named and proof.table_hash) and named != proof.table_hash


def _broken(result: Any) -> bool:
    status = result.status
    return str(getattr(status, "value", status)).lower() in BROKEN


def _beyond(proof: Certificate | ThreatCertificate, result: Any) -> bool:
    swaps = getattr(result, "swaps", None)
    if isinstance(proof, ThreatCertificate):
        return False
    if proof.max_substitutions is None or swaps is None:
        return False
    count = swaps if isinstance(swaps, int) else len(swaps)
    return count > proof.max_substitutions


def _shown(result: Any) -> str:
    swaps = getattr(result, "swaps", None)
    if isinstance(swaps, Mapping):
        return ", ".join(f"{place} -> {word}" for place, word in swaps.items())
    return repr(swaps if swaps is not None else result)
