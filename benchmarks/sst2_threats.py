"""SST-2 under pairs of programmable edits: a bag of words fitted to each threat, every test sentence certified.

    SGBT_DATA=... python benchmarks/sst2_threats.py --out results/threats

The threats are those of ARC (Zhang, Albarghouthi and D'Antoni, EMNLP 2021): at most two words replaced by
counter-fitted neighbours, two stop words left out, two words doubled, each two of them together; and any two words
left out, which ARC does not have. Of the weights of the penalty below, that with the most certified sentences of dev
is taken; test is read once for each threat.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.data import Split
from sgbt.embeddings import load_embeddings
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

NAMES = ("negative", "positive")
PENALTIES = (1e-6, 1e-5, 1e-4)


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


def chosen(train: Split, dev: Split, threat: Threat) -> TextClassifier:
    """The model of the penalty that certifies most of dev."""
    vectors, found = load_embeddings("glove"), []
    for penalty in PENALTIES:
        fit = ThreatFit(epochs=12, batch=512, learning_rate=0.03, l2=penalty, minimum_count=1, vectors=True)
        model = fit_bag_of_words(train, NAMES, threat, fit=fit, vectors=vectors)
        summary = ThreatSummary.of(certify_against(model, dev, threat))
        print(f"  dev, l2 {penalty:g}: {said(summary)}", flush=True)
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
    for name, threat in threats(SubstitutionTable.counter_fitted()).items():
        print(f"{name}: {threat.name}", flush=True)
        model = chosen(train, dev, threat)
        rows = certify_against(model, test, threat, out=given.out / f"sst2-{name}.jsonl")
        print(f"  test: {said(ThreatSummary.of(rows))}", flush=True)


if __name__ == "__main__":
    main()
