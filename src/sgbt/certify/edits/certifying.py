"""certify_against: for every text, a proof that nothing a threat allows changes its label, or none."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.certify.certificate import verdict_of
from sgbt.certify.edits.certificate import THREAT_ROWS, ThreatCertificate
from sgbt.certify.edits.margins import least_margins
from sgbt.certify.read_texts import hash_of_text, require_finite_logits
from sgbt.certify.rounding import rounding_slack
from sgbt.certify.rows.comparison import TOLERANCE, drawn_seed, forged
from sgbt.certify.verifier import in_float64, lowest_margin, require_finite
from sgbt.core.errors import CertificateError
from sgbt.core.rows import RowFile
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import LatticeMaker, Threat
from sgbt.threats.lattice import KEPT

TEXTS_AT_ONCE = 32
RECHECKED = 20
"""Of the rows that a file has already, so many are proven again before any is taken over."""
Listener = Callable[[int, int], None]


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
    require_finite(classifier.model)
    given = list(texts.texts) if isinstance(texts, Split) else list(texts)
    logits = classifier.logits_of(classifier.encode(given)).numpy()
    require_finite_logits(logits)
    predicted = logits.argmax(axis=1) if len(given) else np.zeros(0, dtype=np.int64)
    run = _Run(
        model=in_float64(classifier.model),
        maker=LatticeMaker(threat, classifier.vocabulary, classifier.tokenizer),
        texts=given,
        hashes=[hash_of_text(text) for text in given],
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
    with RowFile(out, THREAT_ROWS) as file:
        file.require(run.shared)
        file.require_texts(
            lambda row: (
                row.index >= len(given) or (row.text_hash, row.label) == (run.hashes[row.index], run.right[row.index])
            )
        )
        done = {row.index: row for row in file.rows.values() if row.index < len(given)}
        _recheck(run, list(done.values()), str(out))
        pending = [index for index in range(len(given)) if index not in done]
        for begin in range(0, len(pending), TEXTS_AT_ONCE):
            fresh = run.proven(pending[begin : begin + TEXTS_AT_ONCE])
            file.append(*fresh)
            done |= {row.index: row for row in fresh}
            if listener:
                listener(len(done), len(given))
    return [done[row] for row in sorted(done)]


@dataclass(frozen=True)
class _Run:
    model: Any
    maker: LatticeMaker
    texts: list[str]
    hashes: list[str]
    right: np.ndarray
    logits: np.ndarray
    max_length: int
    shared: dict[str, Any]

    @cached_property
    def lowest(self) -> float:
        """What every margin is at least: what a bound that is not finite says."""
        return max(lowest_margin(self.model, longest=self.max_length), -sys.float_info.max)

    def proven(self, rows: list[int]) -> list[ThreatCertificate]:
        """The certificates of some texts, found together."""
        start, slack = time.thread_time(), self.shared["slack"]
        lattices = [self.maker.of(self.texts[row]) for row in rows]
        bounds = least_margins(self.model, lattices, self.right[rows], self.max_length)
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


def _recheck(run: _Run, done: list[ThreatCertificate], where: str) -> None:
    """Prove some of the rows again that a file has already; nobody can foresee which ones."""
    for row in done:
        if row.predicted != (answer := int(run.logits[row.index].argmax())):
            raise forged(row.index, f"the answer {row.predicted} where the model says {answer}", where)
    drawn = random.Random(drawn_seed()).sample(done, min(RECHECKED, len(done)))
    for row, fresh in zip(drawn, run.proven([row.index for row in drawn]) if drawn else [], strict=True):
        nearly = TOLERANCE * (1 + abs(fresh.margin))
        if row.verdict is not fresh.verdict and not abs(fresh.margin - fresh.slack) <= nearly:
            raise forged(row.index, f"{row.verdict} where {fresh.verdict} can be proven", where)
        if row.margin > fresh.margin + nearly:
            raise forged(row.index, f"margin {row.margin:.6g} where {fresh.margin:.6g} can be proven", where)


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
