"""Rows of certificates of a callable over encoded text are proven again: the callable is asked again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from sgbt.attacks.victim import CallableVictim
from sgbt.certify.black_box.certificate import ADDITIVE, EncodedCertificate
from sgbt.certify.black_box.certifying import prover_of_encoded
from sgbt.certify.black_box.edited import EditedEncoder
from sgbt.certify.black_box.encoder import Encoder
from sgbt.certify.black_box.fitting import AnyEncoder
from sgbt.certify.rows.running import Claims, Prover, claims_of, other_model
from sgbt.core.errors import CertificateError


@dataclass(frozen=True)
class _CallableClaims(Claims[EncodedCertificate]):
    victim: CallableVictim
    encoder: AnyEncoder

    subject = "model, encoder, table"

    def fault(self, row: EncodedCertificate) -> str:
        if row.method == ADDITIVE and row.combinations > row.max_queries:
            raise CertificateError(
                expected="rows whose texts can all be shown to the callable",
                got=f"{row.combinations:,} versions of text {row.index}, bounded by the weights of a linear model",
                where="verify",
                remedy="certify again with the pipeline itself (sgbt.bridges.sklearn), which has the weights",
            )
        for name, own in {"encoder": self.encoder.hash, "table": self.encoder.threat_hash}.items():
            if (said := getattr(row, f"{name}_hash")) != own:
                return f"the {name} {said[:12]}, where it is {own[:12]}"
        return other_model(row, self.victim.fingerprint)

    def settings(self, row: EncodedCertificate) -> Hashable:
        return row.max_substitutions, row.max_queries, row.slack

    def prover(
        self, like: EncodedCertificate, texts: Sequence[str], labels: Sequence[int]
    ) -> Prover[EncodedCertificate]:
        return prover_of_encoded(
            self.victim.classify,
            texts,
            self.encoder,
            labels,
            max_substitutions=like.max_substitutions,
            max_queries=like.max_queries,
            slack=like.slack,
            fingerprint=self.victim.fingerprint,
        )


@claims_of.register
def _claims(row: EncodedCertificate, model: Any, against: Any, threads: int | None) -> Claims[EncodedCertificate]:
    victim = model if isinstance(model, CallableVictim) else None
    if victim is None and callable(model):
        victim = CallableVictim(model)
    if victim is None or not isinstance(against, Encoder | EditedEncoder):
        raise CertificateError(
            expected="the callable that rows are about, and the encoder of its texts",
            got=f"a {type(model).__name__} and {type(against).__name__}",
            where="verify",
        )
    return _CallableClaims(victim, against)
