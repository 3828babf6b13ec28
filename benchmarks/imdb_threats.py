"""IMDB under large threats: what training and certifying cost for a union of lists, and the headline model under more.

    SGBT_DATA=... python benchmarks/imdb_threats.py union --out results/threats/imdb.jsonl
    SGBT_DATA=... python benchmarks/imdb_threats.py joint --model FOLDER --texts 200 --out results/threats/imdb.jsonl

`union` trains n-grams of clusters on all of train against counter-fitted, WordNet's and HowNet's lists together, any
number of words replaced, and certifies all of test: seconds, and the most memory that the process had, are in the row.
Options are those of the grid imdb-lists. `joint` takes a trained model, and certifies test texts drawn at random under
substitutions, one typing error and one deleted stop word together.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgbt.certify import certify
from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.core.machine import peak_bytes
from sgbt.data import load_dataset
from sgbt.embeddings import load_embeddings
from sgbt.evaluate.code_version import current_commit
from sgbt.models import BagOfNgrams, load_classifier
from sgbt.threats import SubstitutionTable, parse_threat
from sgbt.threats.named import table_named
from sgbt.training import Certified, TrainingConfig, train

CONFIG = TrainingConfig(epochs=8, patience=8, weight_decay=2e-3, max_length=10_000, minimum_count=2)
LISTS = ("counter_fitted", "wordnet", "sememes")
JOINT = "counter_fitted + typos:1 + delete:1"


def named(name: str) -> SubstitutionTable:
    table = table_named(name, lambda: load_embeddings("glove"), data_home=None)
    assert table is not None
    return table


def union(resolution: float) -> dict[str, Any]:
    data, table = load_dataset("imdb", dev=0.0), named("+".join(LISTS))
    began = time.perf_counter()
    model = BagOfNgrams(resolution=resolution, label_weight=1.0, ending=20)
    with tempfile.TemporaryDirectory() as folder:
        run = train(
            model, data, objective=Certified(kappa=1.0, ramp_epochs=0.0), substitutions=table, config=CONFIG, out=folder
        )
    trained = time.perf_counter()
    rows = certify(run.model, data.test, table, tiers=("ibp",))
    certified = time.perf_counter()
    return {
        "threat": table.name,
        "texts": len(rows),
        "clean": sum(row.predicted == row.label for row in rows),
        "certified": sum(row.certified for row in rows),
        "train_seconds": round(trained - began),
        "certify_seconds": round(certified - trained),
        "model_hash": run.model.identity,
    }


def joint(folder: Path, texts: int) -> dict[str, Any]:
    test = load_dataset("imdb").test
    drawn = np.sort(np.random.default_rng(0).choice(len(test), size=texts, replace=False)).tolist()
    classifier, threat = load_classifier(folder), parse_threat(JOINT, named)
    began = time.perf_counter()
    found = ThreatSummary.of(certify_against(classifier, test.take(drawn), threat))
    return {
        "threat": threat.name,
        "texts": texts,
        "clean": found.clean.count,
        "certified": found.certified.count + found.vacuous.count,
        "certify_seconds": round(time.perf_counter() - began),
        "processor_ms": round(found.milliseconds, 1),
        "model_hash": classifier.identity,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["union", "joint"])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--resolution", type=float, default=0.03)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    row = union(given.resolution) if given.what == "union" else joint(given.model, given.texts)
    row |= {"peak_mb": peak_bytes() // 2**20, "commit": current_commit()}
    print(json.dumps(row), flush=True)
    with given.out.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
