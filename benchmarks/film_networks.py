"""Networks over words alone with tied vectors, each measured on training reviews of IMDB that were held out.

    python benchmarks/film_networks.py --folds 1 --out results/trials/network-films.jsonl

`apart`: a BagOfWords of single words with places is beside the network, and each is trained by itself; `beside`: the
network learns what that BagOfWords leaves. The folds are those of `films.py`, which measures the BagOfWords alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from _folds import Planned, measured_on_folds

from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.models import TextCNN
from sgbt.training import (
    Certified,
    LateFusion,
    Residual,
    ScaledClusterMeans,
    TiedWords,
    TrainingConfig,
    TrainingMethod,
)

WIDTH = 100
BASE: dict[str, Any] = {
    "pooling": "max",
    "kernel_sizes": (3,),
    "filters": 100,
    "learning_rate": 1e-3,
    "max_length": 1000,
    "epochs": 4,
}
WORDS = ("linear", {"features": (), "places": True})
SHORT: dict[str, Any] = {"max_length": 400, "epochs": 3}
TRIALS: dict[str, dict[str, Any]] = {
    "apart": {"recipe": LateFusion(*WORDS)},
    "alone": {},
    "alone, rate 2e-3": {"learning_rate": 2e-3},
    "alone, 64 filters of 1, 2 and 3": {"filters": 64, "kernel_sizes": (1, 2, 3)},
    "400 words, 3 epochs, alone": SHORT,
    "400 words, 3 epochs, apart": {**SHORT, "recipe": LateFusion(*WORDS)},
    "400 words, 3 epochs, beside": {**SHORT, "recipe": Residual(*WORDS)},
}
"""What differs from `BASE`."""


@cache
def vectors() -> EmbeddingTable:
    """What the networks start from."""
    return load_embeddings("glove").condensed(WIDTH, spread=1.0)


def plan(name: str) -> Planned:
    """The model, the objective and the training of a trial."""
    options = BASE | TRIALS[name]
    model = {key: options.pop(key) for key in ("pooling", "kernel_sizes", "filters")}
    training = {key: options.pop(key) for key in ("learning_rate", "max_length", "epochs")}
    config = TrainingConfig(weight_decay=1e-4, learning_rate_decay=2.0, patience=training["epochs"], **training)
    objective = Certified(
        kappa=1.0,
        ramp_epochs=1.0,
        beta=0.0,
        gamma=0.0,
        compactness=0.0,
        word_dropout=0.1,
    )
    method = TrainingMethod(objective, ScaledClusterMeans(), TiedWords((30.0, 100.0, 300.0)), **options)
    return TextCNN(vectors(), trainable_embedding=True, **model), method, config


if __name__ == "__main__":
    measured_on_folds(__doc__, "results/trials/network-films.jsonl", TRIALS, plan)
