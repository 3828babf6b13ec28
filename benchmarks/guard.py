"""A proven model before another on IMDB: how many texts it answers by proof, how accurate both are, what they cost.

Run: python benchmarks/guard.py FOLDER [--texts N] [--out FILE]. FOLDER is a model that sgbt trained on IMDB's train
texts. Behind it stands TF-IDF (1-2-grams) and logistic regression of plain train texts; nothing is proven about that.
One row for each probability from which on the proven model answers; they are stated beforehand, none is chosen.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from _rows import write_rows
from any_model import PIPELINES, imdb

from sgbt.bridges.guarded import Guarded
from sgbt.certify import Prepared
from sgbt.models import load_classifier

SURE = (0.0, 0.8, 0.9, 0.95, 0.99)


def main() -> None:
    """Train the model behind, ask both, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path("results/any-model/guard.jsonl"))
    options = parser.parse_args()
    texts, labels, tested, truth = imdb()
    order = np.random.default_rng(0).permutation(len(tested))[: options.texts]
    chosen, truth = [tested[each] for each in order], truth[order]
    large = PIPELINES["logistic"]().fit(texts, labels)
    prepared = Prepared.of(load_classifier(options.folder))
    names = prepared.classifier.label_names
    begun = time.process_time()
    behind = large.predict(chosen)
    behind_ms = 1000 * (time.process_time() - begun) / len(chosen)
    begun = time.process_time()
    answers = Guarded(prepared, lambda asked: [names[0]] * len(asked), sure=0.0).answers(chosen)
    guard_ms = 1000 * (time.process_time() - begun) / len(chosen)
    proven = np.array([each.answered_by == "proof" for each in answers])
    chance = np.array([each.probability for each in answers])
    own = np.array([names.index(each.label) for each in answers])
    write_rows(
        options.out,
        [
            row_of(sure, proven & (chance >= sure), own, behind, truth)
            | {
                "texts": len(chosen),
                "guard": prepared.classifier.identity[:12],
                "guard_cpu_ms": guard_ms,
                "behind_cpu_ms": behind_ms,
            }
            for sure in SURE
        ],
    )


def row_of(sure: float, holds: np.ndarray, own: np.ndarray, behind: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """What the two models together come to; `own` counts where the guard `holds`."""
    right = np.where(holds, own, behind) == truth
    return {
        "sure": sure,
        "by_proof": float(holds.mean()),
        "accuracy_by_proof": float(right[holds].mean()) if holds.any() else None,
        "accuracy_behind": float(right[~holds].mean()) if not holds.all() else None,
        "accuracy": float(right.mean()),
        "accuracy_without_guard": float((behind == truth).mean()),
        "accuracy_without_guard_where_it_answers": float((behind == truth)[holds].mean()) if holds.any() else None,
    }


if __name__ == "__main__":
    main()
