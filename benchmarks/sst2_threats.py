"""SST-2 under pairs of programmable edits: a bag of words fitted to each threat, every test sentence certified.

    SGBT_DATA=... python benchmarks/sst2_threats.py --out results/threats

The threats are those of ARC (Zhang, Albarghouthi and D'Antoni, EMNLP 2021): at most two words replaced by
counter-fitted neighbours, two stop words left out, two words doubled, each two of them together; and any two words
left out, which ARC does not have. Words count once, however often a sentence has them; of the fits below, that with the
most certified sentences of dev is taken; test is read once for each threat.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.data import Split
from sgbt.embeddings import load_embeddings
from sgbt.models import TextClassifier
from sgbt.threats import EmbeddingStart, SubstitutionTable, Threat
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

NAMES = ("negative", "positive")
PLAIN = ThreatFit(epochs=12, batch=512, learning_rate=0.03, minimum_count=1, vectors=True, once=True)
FITS = (
    replace(PLAIN, l2=1e-4),
    replace(PLAIN, l2=1e-3),
    replace(PLAIN, l2=1e-4, clusters=0.3),
    replace(PLAIN, l2=1e-4, clusters=3.0, label_weight=1.0),
    replace(PLAIN, l2=3e-4, clusters=0.3),
)
PENALTIES = 2
"""The first ones, without clusters; without substitutions there is nothing to make them of."""


def threats(table: SubstitutionTable) -> dict[str, Threat]:
    replaced = Threat.substitutions(table, at_most=2)
    left_out, doubled = Threat.deletions("stop words", at_most=2), Threat.duplications(at_most=2)
    return {
        "delete-substitute": left_out | replaced,
        "duplicate-substitute": doubled | replaced,
        "delete-duplicate": left_out | doubled,
        "delete-any": Threat.deletions("any", at_most=2),
    }


def read(name: str) -> Split:
    path = Path(os.environ["SGBT_DATA"]) / "sst2" / f"{name}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return Split(name, tuple(row["text"] for row in rows), np.array([row["label"] for row in rows], dtype=np.int64))


def chosen(train: Split, dev: Split, threat: Threat, table: SubstitutionTable) -> TextClassifier:
    """The model of the fit that certifies most of dev."""
    vectors, found = EmbeddingStart(averaged=True).of(load_embeddings("glove"), table), []
    for fit in FITS if threat.of_kind("substitutions") else FITS[:PENALTIES]:
        model = fit_bag_of_words(train, NAMES, threat, fit=fit, vectors=vectors)
        summary = ThreatSummary.of(certify_against(model, dev, threat))
        print(f"  dev, l2 {fit.l2:g}, clusters {fit.clusters:g}: {said(summary)}", flush=True)
        found.append((summary.certified.count + summary.vacuous.count, model))
    return max(found, key=lambda pair: pair[0])[1]


def said(found: ThreatSummary) -> str:
    stays = found.certified.count + found.vacuous.count
    return (
        f"clean {found.clean.count} of {found.clean.total}, label proven to stay {stays}, {found.milliseconds:.1f} ms"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    train, dev, test = (read(name) for name in ("train", "dev", "test"))
    given.out.mkdir(parents=True, exist_ok=True)
    table = SubstitutionTable.counter_fitted()
    for name, threat in threats(table).items():
        print(f"{name}: {threat.name}", flush=True)
        model = chosen(train, dev, threat, table)
        rows = certify_against(model, test, threat, out=given.out / f"sst2-{name}.jsonl")
        print(f"  test: {said(ThreatSummary.of(rows))}", flush=True)


if __name__ == "__main__":
    main()
