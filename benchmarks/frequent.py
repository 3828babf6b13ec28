"""What rare substitutes cost a proof: one weight per word on IMDB's dev reviews, with shorter and shorter lists.

    python benchmarks/frequent.py --out results/trials/linear-frequent.jsonl

A vocabulary is often cut to frequent words, and substitutes outside it are then left out. Here a `BagOfWords` without
codes is trained and certified on lists that keep only words that train has at least 1, 10, 50 or 100 times, and on the
whole list (0): as it is shipped, with ties, and without them by a thousand steps on all texts. The same words are its
vocabulary. One JSON row per trial; trials that the file has are not repeated. The test split is never read.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _rows import done, made_by, trials

from sgbt.data import TextDataset, load_dataset
from sgbt.models import BagOfWords
from sgbt.threats import SubstitutionTable
from sgbt.training import PRESETS, Certified, TrainingConfig, train

LEAST = (100, 50, 10, 1, 0)
ALL_AT_ONCE = TrainingConfig(
    epochs=1000,
    patience=1000,
    learning_rate=0.04,
    weight_decay=1.2e-4,
    batch_size=25_000,
    max_length=10_000,
    minimum_count=1,
)
"""Its decay is an l2 of 3e-5 on the difference of a word's two weights."""
RECIPES: dict[str, tuple[dict[str, Any], TrainingConfig]] = {
    "with ties": ({}, PRESETS["linear"]),
    "without": ({"ties": ()}, ALL_AT_ONCE),
}


def trial(data: TextDataset, whole: SubstitutionTable, least: int, recipe: str) -> dict[str, Any]:
    """One run, and what it says of dev."""
    counts = data.train.tokenised().counts()
    table = whole.restricted_to([word for word, count in counts.items() if count >= least]) if least else whole
    options, config = RECIPES[recipe]
    config = replace(config, minimum_count=max(least, config.minimum_count))
    began = time.perf_counter()
    run = train(
        BagOfWords(features=(), **options), data, objective=Certified(kappa=1.0, ramp_epochs=0.0), substitutions=table,
        config=config,
    )  # fmt: skip
    tokens = data.dev.tokenised()
    return {
        "least": least,
        "recipe": recipe,
        "training": asdict(config),
        "substitutions": {"name": table.name, "hash": table.hash, "words": len(table)},
        "of_dev_words": asdict(table.describe_texts(tokens.words(row) for row in range(len(tokens)))),
        "dev_texts": len(data.dev),
        "dev": run.dev,
        "seconds": round(time.perf_counter() - began, 1),
    }


def told(row: dict[str, Any]) -> str:
    """One trial as a line."""
    clean, certified = row["dev"]["accuracy"], row["dev"]["certified"]
    return f"{row['least']:4} {row['recipe']:10} clean {clean:.4f}, certified {certified:.4f}; {row['seconds']} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/trials/linear-frequent.jsonl"))
    out = parser.parse_args().out
    data, whole = load_dataset("imdb"), SubstitutionTable.counter_fitted()
    with trials(out, "least", "recipe") as file:
        for least in LEAST:
            for recipe in RECIPES:
                if not done(file, least, recipe):
                    row = trial(data, whole, least, recipe)
                    file.append(row | made_by())
                    print(told(row), flush=True)
        print("\n".join(map(told, file.rows.values())))


if __name__ == "__main__":
    main()
