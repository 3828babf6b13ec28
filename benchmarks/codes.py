"""What codes keep of a text, and what they cost a proof: BagOfNgrams on IMDB's dev reviews, trial by trial.

    python benchmarks/codes.py --out results/trials/grams.jsonl

Each trial trains a `BagOfNgrams` on train and says, of dev alone, clean accuracy and the share that is proven;
and how many running words are ambiguous, and how many the largest code has. One JSON row per trial; trials that the
file has are not repeated. The test split is never read.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from _rows import done, made_by, trials

from sgbt.data import TextDataset, load_dataset
from sgbt.models import BagOfNgrams, BagOfNgramsConfig, TextClassifier
from sgbt.threats import SubstitutionTable
from sgbt.training import PRESETS, Certified, train

TRIALS: list[dict[str, Any]] = [
    {},
    {"resolution": 1e-6},
    {"resolution": 1.0},
    {"resolution": 10.0},
    {"longest": 1},
    {"longest": 2},
    {"longest": 3},
    {"prior": 1.0},
    {"prior": 10.0},
    {"weight_decay": 6e-4},
    {"weight_decay": 6e-3},
]
"""What differs from the defaults; at the lowest resolution, all words that a chain connects have one code. (At 100
so many words are ambiguous that what substitution can bring does not fit into memory, and training refuses.)"""


def trial(data: TextDataset, table: SubstitutionTable, options: dict[str, Any]) -> dict[str, Any]:
    """One run, and what it says of dev."""
    model = {name: value for name, value in options.items() if name != "weight_decay"}
    config = replace(PRESETS["grams"], **{name: options[name] for name in options if name == "weight_decay"})
    began = time.perf_counter()
    run = train(
        BagOfNgrams(**model), data, objective=Certified(kappa=1.0, ramp_epochs=0.0), substitutions=table, config=config
    )
    return {
        "trial": options,
        "model": asdict(BagOfNgramsConfig(**model)),
        "training": {"weight_decay": config.weight_decay, "epochs": config.epochs},
        "substitutions": {"name": table.name, "hash": table.hash},
        "dev_texts": len(data.dev),
        "dev": run.dev,
        **shares_of_codes(run.model, data, table),
        "features": len(run.model.model.keys),
        "seconds": round(time.perf_counter() - began, 1),
    }


def shares_of_codes(classifier: TextClassifier, data: TextDataset, table: SubstitutionTable) -> dict[str, float]:
    """Of the running words of train: how many can change their code, and how many have the commonest code."""
    words, codes = classifier.vocabulary, classifier.model.codes.numpy()
    counts = data.train.tokenised(classifier.tokenizer).counts()
    mass = np.array([0, 0, *(counts.get(word, 0) for word in words.words)], dtype=float)
    ambiguous = np.array([False, False, *(len(_codes_of(word, table, classifier, codes)) > 1 for word in words.words)])
    return {
        "ambiguous": float(mass[ambiguous].sum() / mass.sum()),
        "largest_code": float(np.bincount(codes, mass).max() / mass.sum()),
    }


def _codes_of(word: str, table: SubstitutionTable, classifier: TextClassifier, codes: np.ndarray) -> set[int]:
    return {int(codes[classifier.vocabulary.id_of(other)]) for other in (word, *table.substitutes(word))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/trials/grams.jsonl"))
    parser.add_argument("--texts", type=int, help="train on so many texts only, to see that it works")
    arguments = parser.parse_args()
    data, table = load_dataset("imdb"), SubstitutionTable.counter_fitted()
    if arguments.texts:
        data = replace(data, train=data.train[: arguments.texts], dev=data.dev[: arguments.texts])
    with trials(arguments.out, "trial") as file:
        for options in TRIALS:
            if done(file, options):
                continue
            row = trial(data, table, options)
            file.append(row | made_by())
            print(f"{options!s:24} {told(row)}", flush=True)
        print("\n".join(f"{row['trial']!s:24} {told(row)}" for row in file.rows.values()))


def told(row: dict[str, Any]) -> str:
    """One trial as a line."""
    return (
        f"clean {row['dev']['accuracy']:.4f}, certified {row['dev']['certified']:.4f} of {row['dev_texts']:,} texts; "
        f"ambiguous {row['ambiguous']:.3f}, largest code {row['largest_code']:.3f}; {row['features']:,} runs, "
        f"{row['seconds']} s"
    )


if __name__ == "__main__":
    main()
