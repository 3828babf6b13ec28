"""certify_against: for every text, a proof that nothing a threat allows changes its label, or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.certify.certificate import verdict_of
from sgbt.certify.edits.certificate import THREAT_ROWS, ThreatCertificate
from sgbt.certify.edits.margins import least_margins
from sgbt.certify.read_texts import hash_of_text
from sgbt.certify.rounding import rounding_slack
from sgbt.certify.verifier import in_float64, require_finite
from sgbt.core.errors import CertificateError
from sgbt.core.rows import RowFile
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import LatticeMaker, Threat
from sgbt.threats.lattice import KEPT

TEXTS_AT_ONCE = 32
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

    With `out`, rows are appended as they are decided, and the same call goes on where an interrupted one stood.
    """
    require_finite(classifier.model)
    given = list(texts.texts) if isinstance(texts, Split) else list(texts)
    maker = LatticeMaker(threat, classifier.vocabulary, classifier.tokenizer)
    model, slack = in_float64(classifier.model), rounding_slack(classifier)
    logits = classifier.logits_of(classifier.encode(given)).numpy()
    predicted = logits.argmax(axis=1) if len(given) else np.zeros(0, dtype=np.int64)
    right = _labels(texts, labels, predicted, len(classifier.label_names))
    shared: dict[str, Any] = {
        "threat": threat.name,
        "threat_hash": threat.hash,
        "model_hash": classifier.identity,
        "slack": slack,
    }
    hashes = [hash_of_text(text) for text in given]
    with RowFile(out, THREAT_ROWS) as file:
        file.require(shared)
        file.require_texts(
            lambda row: row.index >= len(given) or (row.text_hash, row.label) == (hashes[row.index], right[row.index])
        )
        done = {row.index: row for row in file.rows.values() if row.index < len(given)}
        pending = [index for index in range(len(given)) if index not in done]
        for begin in range(0, len(pending), TEXTS_AT_ONCE):
            rows, start = pending[begin : begin + TEXTS_AT_ONCE], time.thread_time()
            lattices = [maker.of(given[row]) for row in rows]
            least = least_margins(model, lattices, right[rows], classifier.max_length).min(axis=1)
            spent = round(1000 * (time.thread_time() - start) / len(rows), 4)
            fresh = []
            for row, lattice, margin in zip(rows, lattices, least.tolist(), strict=True):
                edits, own = int((lattice.kind != KEPT).sum()), _margin(logits[row], int(right[row]))
                is_right = bool(predicted[row] == right[row])
                margin = min(margin, own) if is_right and edits else own
                fresh.append(
                    ThreatCertificate(
                        index=row,
                        verdict=verdict_of(right=is_right, free=edits > 0, proven=margin > slack),
                        label=int(right[row]),
                        predicted=int(predicted[row]),
                        margin=margin,
                        words=len(lattice.ids),
                        edits=edits,
                        text_hash=hashes[row],
                        milliseconds=spent,
                        **shared,
                    )
                )
            file.append(*fresh)
            done |= {row.index: row for row in fresh}
            if listener:
                listener(len(done), len(given))
    return [done[row] for row in sorted(done)]


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
