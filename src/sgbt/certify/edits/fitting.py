"""train_for_threat: a bag of words fitted to the worst case of a threat; what certifies most of dev is taken.

Tried are a few weights of the penalty, and, where word vectors are given, with these in the fit. Dev certificates are
exact, so the choice is made by what counts. Probabilities are calibrated on dev in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from sgbt.certify.edits.certificate import ThreatSummary
from sgbt.certify.edits.certifying import certify_against
from sgbt.core.errors import visible
from sgbt.data import TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import TextClassifier
from sgbt.threats import Threat
from sgbt.training.calibration import best_scale, scale
from sgbt.training.objectives.worst_edits import WorstEdits
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

PENALTIES = (1e-6, 1e-5, 1e-4)
SMALL_TEXTS = 20_000
"""Up to so many texts of train, seldom words count too and passes are more."""
SMALL = ThreatFit(epochs=12, batch=512, learning_rate=0.03, minimum_count=1)
MOST_OF_DEV = 1000
"""Texts of dev that are certified to choose by."""


@dataclass(frozen=True, eq=False)
class FittedToThreat:
    """The classifier, its fit, shares of dev that are right and proven (none without dev), and those of all fits."""

    model: TextClassifier
    fit: ThreatFit
    dev: dict[str, float]
    tried: tuple[tuple[ThreatFit, dict[str, float]], ...]


def train_for_threat(
    dataset: TextDataset,
    threat: Threat,
    *,
    fit: ThreatFit | None = None,
    vectors: EmbeddingTable | None = None,
    seed: int = 0,
    log: Callable[[str], None] = lambda line: None,
) -> FittedToThreat:
    """Fit with `fit`, or with what certifies most of dev; `log` is called with a line on each."""
    start = SMALL if len(dataset.train) <= SMALL_TEXTS else ThreatFit()
    fits = [replace(start, l2=l2, vectors=vectors is not None) for l2 in PENALTIES] if fit is None else [fit]
    fits = fits if len(dataset.dev) else fits[len(fits) // 2 :][:1]
    dev, found = dataset.dev[:MOST_OF_DEV], []
    for each in fits:
        model = fit_bag_of_words(dataset.train, dataset.label_names, threat, fit=each, vectors=vectors, seed=seed)
        scores = _scores(model, dev, threat) if len(dev) else {}
        if scores:
            log(f"l2 {each.l2:g}: {scores['certified']:.1%} of dev certified, {scores['accuracy']:.1%} right")
        found.append((model, each, scores))
    model, chosen, scores = max(found, key=lambda one: one[2].get("certified", 0.0))
    logits = model.logits_of(model.encode(list(dataset.dev.texts)))
    scale(model.model, best_scale(logits, torch.from_numpy(dataset.dev.labels)))
    calibrated = replace(model)  # another identity, for other weights
    return FittedToThreat(calibrated, chosen, scores, tuple((each, own) for _, each, own in found))


def _scores(model: TextClassifier, dev: Any, threat: Threat) -> dict[str, float]:
    summary = ThreatSummary.of(certify_against(model, dev, threat))
    stays = summary.certified.count + summary.vacuous.count
    return {"accuracy": summary.clean.value, "certified": stays / len(dev)}


def note_of_fit(dataset: TextDataset, threat: Threat, found: FittedToThreat, seed: int) -> dict[str, Any]:
    """What a folder says of how its model was trained."""
    others = threat.without_substitutions
    options = {"threat": others.name if others else "", "kappa": 1 - found.fit.clean_share}
    return {
        "dataset": visible(dataset.name),
        "dataset_hash": dataset.hash,
        "objective": WorstEdits.name,
        "objective_options": options,
        "threat": threat.name,
        "seed": seed,
        "config": asdict(found.fit),
        "dev": found.dev,
    }
