"""Measured: the rows behind a card, after everything in them that can be checked was found true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.bridges.card_attacks import CardAttack, attacks_of, require_first
from sgbt.bridges.card_labels import Labels
from sgbt.certify import Certificate, Verified, verify
from sgbt.certify import read_rows as read_certificates
from sgbt.certify.rows.attacked import check_true
from sgbt.certify.rows.comparison import Sample
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable


@dataclass(frozen=True)
class Measured:
    """Certificates and attack rows, what verifying them gave, and where their labels come from."""

    proofs: Sequence[Certificate]
    rows: Sequence[AttackResult]
    verified: Verified | None
    attacks: Sequence[CardAttack]
    labels: Labels
    budget: int | None
    texts_compared: bool
    seed: int

    @staticmethod
    def of(
        classifier: TextClassifier,
        certificates: str | Path | None,
        attacks: str | Path | Sequence[str | Path] | None,
        *,
        texts: Split | Sequence[str] | Mapping[int, str] | None,
        labels: Sequence[int] | Mapping[int, int] | None,
        table: SubstitutionTable | None,
        sample: Sample,
        seed: int,
    ) -> Measured:
        """Read and check both files; as for `model_card`."""
        if isinstance(texts, Split):
            labels = texts.labels.tolist() if labels is None else labels
            texts = texts.texts
        known = texts if isinstance(texts, Mapping | None) else dict(enumerate(texts))
        known_labels = labels if isinstance(labels, Mapping | None) else dict(enumerate(labels))
        proofs = read_certificates(certificates) if certificates else []
        files = [attacks] if isinstance(attacks, str | Path) else list(attacks or ())
        rows, where = [row for file in files for row in read_attacks(file)], ", ".join(map(str, files))
        budget = proofs[0].max_substitutions if proofs else None  # a file has one
        verified = None
        if proofs:
            whole = "the same sgbt certify command makes them"
            require_first([proof.index for proof in proofs], "certificates", whole, str(certificates))
            verified = verify(
                classifier,
                proofs,
                {row.index: row.original for row in rows} if known is None else known,
                table,
                labels=known_labels,
                attacks=rows,
                sample=sample,
                seed=seed,
                where=str(certificates),
            )
        else:
            check_true(classifier, rows, table, texts=known, labels=known_labels, where=where)
        made = attacks_of(classifier, rows, table, verified, sample=sample, seed=seed, where=where)
        origin = Labels.of([*proofs, *rows], compared=labels is not None)
        return Measured(proofs, rows, verified, made, origin, budget, known is not None, seed)
