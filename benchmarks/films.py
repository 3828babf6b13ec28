"""Options of the linear models, each measured on all training reviews of IMDB in five folds of neighbouring ids.

    python benchmarks/films.py --out results/trials/linear-films.jsonl

With codes, the share that is proven is that of the bound that training uses, slightly below the exact one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from _folds import Planned, measured_on_folds

from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.models import BagOfNgrams, BagOfWords
from sgbt.training import PRESETS, Certified, TrainingMethod

WORDS: dict[str, Any] = {"features": (), "from_vectors": True}
GRAMS: dict[str, Any] = {"model": BagOfNgrams.kind}
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


@cache
def vectors() -> EmbeddingTable:
    """Read once, for the trials that learn from them."""
    return load_embeddings("glove")


def plan(name: str) -> Planned:
    """The model, the objective and the training of a trial."""
    options = dict(TRIALS[name])
    kind = options.pop("model", BagOfWords.kind)
    training = {key: options.pop(key) for key in ("weight_decay", "epochs") if key in options}
    if "epochs" in training:
        training["patience"] = training["epochs"]
    if options.pop("from_vectors", False):
        options["vectors"] = vectors()
    model = BagOfWords(**options) if kind == BagOfWords.kind else BagOfNgrams(**options)
    return model, TrainingMethod(Certified(kappa=1.0, ramp_epochs=0.0)), replace(PRESETS[kind], **training)


if __name__ == "__main__":
    measured_on_folds(__doc__, "results/trials/linear-films.jsonl", TRIALS, plan)
