"""Options of the linear models, each measured on all training reviews of IMDB in five folds of neighbouring ids.

    python benchmarks/films.py --out results/trials/linear-films.jsonl

Train is cut into five ranges of ids (`sgbt.data.imdb.film_folds`). Each in turn is held out, and a model trained on the
others is scored on it: clean accuracy and the share that is proven, of 25,000 reviews in all, ten times the usual dev
split. Held-out reviews also choose the epoch, as dev does; with codes, the share is that of the bound that training
uses, slightly below the exact one. One JSON row per trial and fold; those that the file has are not repeated. The test
split is never read.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _rows import append_row, rows_in

from sgbt.data import TextDataset
from sgbt.data.imdb import film_folds
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.lexicon import SubstitutionTable
from sgbt.models import GramBag, LinearBag
from sgbt.training import PRESETS, Certified, train

FOLDS = 5
WORDS: dict[str, Any] = {"features": (), "from_vectors": True}
GRAMS: dict[str, Any] = {"model": GramBag.kind}
TRIALS: dict[str, dict[str, Any]] = {
    "words": WORDS,
    "words, decay 1e-4": {**WORDS, "weight_decay": 1e-4},
    "words, places": {**WORDS, "places": True},
    "words, places, decay 1e-4": {**WORDS, "places": True, "weight_decay": 1e-4},
    "words, places, decay 1e-4, 48 epochs": {**WORDS, "places": True, "weight_decay": 1e-4, "epochs": 48},
    "codes": {},
    "codes, places": {"places": True},
    "grams": GRAMS,
    "grams, ending 20": {**GRAMS, "ending": 20},
    "grams, ending 40": {**GRAMS, "ending": 40},
    "grams, resolutions 3 and 0.3": {**GRAMS, "more_resolutions": (0.3,)},
    "grams, resolutions 3 and 0.3, ending 20": {**GRAMS, "more_resolutions": (0.3,), "ending": 20},
}
"""What differs from the defaults; `weight_decay` and `epochs` are of the training."""


def trial(data: TextDataset, table: SubstitutionTable, vectors: EmbeddingTable, name: str) -> dict[str, Any]:
    """One run on one fold, and what it says of the reviews that were held out."""
    options = dict(TRIALS[name])
    kind = options.pop("model", LinearBag.kind)
    training = {key: options.pop(key) for key in ("weight_decay", "epochs") if key in options}
    if "epochs" in training:
        training["patience"] = training["epochs"]
    if options.pop("from_vectors", False):
        options["vectors"] = vectors
    model = LinearBag(**options) if kind == LinearBag.kind else GramBag(**options)
    config = replace(PRESETS[kind], **training)
    began = time.perf_counter()
    run = train(model, data, objective=Certified(kappa=1.0, ramp_epochs=0.0), substitutions=table, config=config)
    return {
        "trial": name,
        "fold": data.name,
        "model": {"kind": kind, **asdict(model.config)},
        "training": asdict(config),
        "substitutions": {"name": table.name, "hash": table.hash},
        "texts": len(data.dev),
        "right": round(run.dev["accuracy"] * len(data.dev)),
        "proven": round(run.dev["certified"] * len(data.dev)),
        "seconds": round(time.perf_counter() - began, 1),
    }


def told(rows: list[dict[str, Any]]) -> str:
    """What the folds of one trial say, as a line."""
    texts = sum(row["texts"] for row in rows)
    clean, proven = (sum(row[of] for row in rows) / texts for of in ("right", "proven"))
    each = " ".join(f"{row['proven'] / row['texts']:.4f}" for row in rows)
    return f"{rows[0]['trial']:44} clean {clean:.4f}, certified {proven:.4f} of {texts:,} reviews ({each})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/trials/linear-films.jsonl"))
    parser.add_argument("--only", help="only the trials whose names begin so")
    parser.add_argument("--folds", type=int, choices=range(1, FOLDS + 1), default=FOLDS, help="only the first")
    arguments = parser.parse_args()
    table, vectors = SubstitutionTable.counter_fitted(), load_embeddings("glove")
    folds = list(film_folds(FOLDS))[: arguments.folds]
    for name in TRIALS:
        if arguments.only and not name.startswith(arguments.only):
            continue
        for data in folds:
            if not any((row["trial"], row["fold"]) == (name, data.name) for row in rows_in(arguments.out)):
                append_row(arguments.out, trial(data, table, vectors, name))
        print(told([row for row in rows_in(arguments.out) if row["trial"] == name]), flush=True)


if __name__ == "__main__":
    main()
