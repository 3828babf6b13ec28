"""Rows of certificates against a threat are proven again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgbt.attacks.result import AttackResult
from sgbt.certify.edits.certificate import ThreatCertificate
from sgbt.certify.edits.certifying import prover_against
from sgbt.certify.rows.attacked import CheckedAttacks, check_attacks
from sgbt.certify.rows.running import Claims, Prover, claims_of, other_model
from sgbt.core.errors import CertificateError
from sgbt.models import TextClassifier
from sgbt.threats import Threat


@dataclass(frozen=True)
class _ThreatClaims(Claims[ThreatCertificate]):
    classifier: TextClassifier
    identity: str
    threat: Threat

    subject = "model, threat"

    def fault(self, row: ThreatCertificate) -> str:
        if (row.threat_hash, row.threat) != (self.threat.hash, self.threat.name):  # the name is what summaries show
            said = f"the threat {row.threat!r} with hash {row.threat_hash[:12]}"
            return f"{said}, where {self.threat.name!r} has {self.threat.hash[:12]}"
        return other_model(row, self.identity)

    def prover(self, like: ThreatCertificate, texts: Sequence[str], labels: Sequence[int]) -> Prover[ThreatCertificate]:
        return prover_against(self.classifier, texts, self.threat, labels=labels)

    def attacks(
        self,
        rows: Sequence[ThreatCertificate],
        attacks: Sequence[AttackResult],
        texts: Mapping[int, str],
        labels: Mapping[int, int] | None,
    ) -> CheckedAttacks:
        return check_attacks(self.classifier, rows, attacks, self.threat, texts, labels)


@claims_of.register
def _claims(row: ThreatCertificate, model: Any, against: Any, threads: int | None) -> Claims[ThreatCertificate]:
    if not isinstance(against, Threat) or not isinstance(model, TextClassifier):
        raise CertificateError(
            expected=f"a classifier, and the threat {row.threat}",
            got=f"a {type(model).__name__} and {type(against).__name__}",
            where="verify",
        )
    return _ThreatClaims(model, model.identity, against)
