"""How a linear model is fitted before a network is trained, which learns beside it or begins as it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sgbt.lexicon import Vocabulary
from sgbt.models import Bag, GramBag, LinearBag
from sgbt.training.beginning import copied
from sgbt.training.config import PRESETS
from sgbt.training.grams import GramTrainer, fit_codes
from sgbt.training.ibp import IBP
from sgbt.training.linear import LinearTrainer, fit_features
from sgbt.training.listener import Listener
from sgbt.training.objective import Corpus
from sgbt.training.steps import Examples


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Fits copies of one untrained model; `kappa` is the share of the loss that is on the worst case."""

    empty: Bag
    corpus: Corpus
    kappa: float

    @staticmethod
    def of(empty: Bag, corpus: Corpus, kappa: float) -> FirstFit:
        """From a model that has its options; codes, which take a while, are found once."""
        if isinstance(empty, GramBag):
            fit_codes(empty, corpus)
        return FirstFit(empty, corpus, kappa)

    def __call__(
        self, train: Examples, dev: Examples, listener: Listener, *, folder: Path | None = None, settings: str = ""
    ) -> Bag:
        """A model fitted to `train`, the epoch chosen by `dev`; with a folder, an interrupted fit goes on there."""
        model = copied(self.empty)
        shared = {
            "objective": IBP(kappa=self.kappa, ramp_epochs=0.0),
            "config": PRESETS[model.kind],
            "seed": 0,
            "train": train,
            "dev": dev,
            "folder": folder,
            "settings": settings,
            "listener": listener,
        }
        if isinstance(model, LinearBag):
            fit_features(model, self.corpus, train)
            LinearTrainer(model=model, corpus=self.corpus, **shared).run()  # type: ignore[arg-type]
            model.source = None
        else:
            GramTrainer(model=model, **shared).run()  # type: ignore[arg-type]
        return model


@dataclass
class FitsHeard:
    """Lets several fits be heard as one: the epochs of each are counted on from those of the one before."""

    listener: Listener
    fits: int
    fit: int = -1
    of: int = 0

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch of a fit begins; with the first of them, the next fit."""
        self.fit += number == 0
        self.of = of
        self.listener.epoch(self.fit * of + number, self.fits * of, steps)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self.listener.step(number, parts, accuracy, examples)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        self.listener.scores(self.fit * self.of + number, scores, best)


def source_of(model: Bag, vocabulary: Vocabulary) -> str:
    """A hash of what the vectors that a model learns from say of the vocabulary; empty where there are none."""
    source = getattr(model, "source", None)
    if source is None:
        return ""
    rows = [source.row_of(word) for word in vocabulary.words]
    known = np.array([row for row in rows if row is not None], dtype=np.int64)
    whole = hashlib.sha256(np.array([row is not None for row in rows]).tobytes())
    whole.update(np.ascontiguousarray(source.vectors[known]).tobytes())
    return whole.hexdigest()
