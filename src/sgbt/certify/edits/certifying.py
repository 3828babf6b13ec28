"""certify_against: for every text, a proof that nothing a threat allows changes its label, or none."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.certify.certificate import verdict_of
from sgbt.certify.edits.certificate import ThreatCertificate
from sgbt.certify.edits.margins import least_margins
from sgbt.certify.read_texts import require_finite_logits
from sgbt.certify.rounding import rounding_slack
from sgbt.certify.rows.running import Listener, Prover
from sgbt.certify.verifier import in_float64, lowest_margin, require_finite
from sgbt.core.errors import CertificateError
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import LatticeMaker, Threat
from sgbt.threats.lattice import KEPT

TEXTS_AT_ONCE = 32


def certify_against(
    classifier: TextClassifier,
    texts: Split | Sequence[str],
    threat: Threat,
    *,
    labels: Sequence[int] | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
) -> list[ThreatCertificate]:
    """Certify texts against every text that `threat` allows; labels are the split's, given, or the model's own.

    With `out`, rows are appended as they are decided, and the same call goes on where an interrupted one stood,
    once it has proven a sample of the rows found there again.
    """
    return prover_against(classifier, texts, threat, labels=labels).rows(out, listener)


def prover_against(
    classifier: TextClassifier, texts: Split | Sequence[str], threat: Threat, *, labels: Sequence[int] | None = None
) -> Prover[ThreatCertificate]:
    """What `certify_against` makes of its arguments."""
    require_finite(classifier.model)
    given = list(texts.texts) if isinstance(texts, Split) else list(texts)
    logits = classifier.logits_of(classifier.encode(given)).numpy()
    require_finite_logits(logits)
    predicted = logits.argmax(axis=1) if len(given) else np.zeros(0, dtype=np.int64)
    return _ThreatProver(
        model=in_float64(classifier.model),
        maker=LatticeMaker(threat, classifier.vocabulary, classifier.tokenizer),
        texts=given,
        hashes=list(map(ThreatCertificate.hash_of, given)),
        right=_labels(texts, labels, predicted, len(classifier.label_names)),
        logits=logits,
        max_length=classifier.max_length,
        shared={
            "threat": threat.name,
            "threat_hash": threat.hash,
            "model_hash": classifier.identity,
            "slack": rounding_slack(classifier),
        },
    )


@dataclass(frozen=True)
class _ThreatProver(Prover[ThreatCertificate]):
    model: Any
    maker: LatticeMaker
    texts: list[str]
    hashes: list[str]
    right: np.ndarray
    logits: np.ndarray
    max_length: int
    shared: dict[str, Any]

    kind = ThreatCertificate

    def label(self, row: ThreatCertificate) -> int:
        return int(self.right[row.index])

    def fault(self, row: ThreatCertificate) -> str:
        answer = int(self.logits[row.index].argmax())
        return "" if row.predicted == answer else f"the answer {row.predicted} where the model says {answer}"

    def proven(self, places: Sequence[int]) -> Iterator[list[ThreatCertificate]]:
        for begin in range(0, len(places), TEXTS_AT_ONCE):
            yield self._together(places[begin : begin + TEXTS_AT_ONCE])

    @cached_property
    def lowest(self) -> float:
        """What every margin is at least: what a bound that is not finite says."""
        return max(lowest_margin(self.model, longest=self.max_length), -sys.float_info.max)

    def _together(self, rows: Sequence[int]) -> list[ThreatCertificate]:
        start, slack = time.thread_time(), self.shared["slack"]
        lattices = [self.maker.of(self.texts[row]) for row in rows]
        bounds = least_margins(self.model, lattices, self.right[list(rows)], self.max_length)
        least = np.where(np.isfinite(bounds), bounds, self.lowest).min(axis=1)
        spent = round(1000 * (time.thread_time() - start) / len(rows), 4)
        found = []
        for row, lattice, margin in zip(rows, lattices, least.tolist(), strict=True):
            label, predicted = int(self.right[row]), int(self.logits[row].argmax())
            edits, own = int((lattice.kind != KEPT).sum()), _margin(self.logits[row], label)
            margin = min(margin, own) if predicted == label and edits else own
            found.append(
                ThreatCertificate(
                    index=row,
                    verdict=verdict_of(right=predicted == label, free=edits > 0, proven=margin > slack),
                    label=label,
                    predicted=predicted,
                    margin=margin,
                    words=len(lattice.ids),
                    edits=edits,
                    text_hash=self.hashes[row],
                    milliseconds=spent,
                    **self.shared,
                )
            )
        return found


def _labels(
    texts: Split | Sequence[str], labels: Sequence[int] | None, predicted: np.ndarray, classes: int
) -> np.ndarray:
    found = labels if labels is not None else texts.labels if isinstance(texts, Split) else predicted
    known = np.asarray(found, dtype=np.int64)
    if len(known) != len(predicted) or (len(known) and not 0 <= known.min() <= known.max() < classes):
        raise CertificateError(
            expected=f"a label from 0 to {classes - 1} for each of {len(predicted):,} texts",
            got=f"{len(known):,} labels",
            where="certify",
        )
    return known


def _margin(logits: np.ndarray, label: int) -> float:
    return float(logits[label] - np.delete(logits, label).max())
