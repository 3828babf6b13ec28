"""The models that `auto` tries for a dataset: what each reaches on dev, and how it is fitted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sgbt.data import TextDataset, Tokenizer, batches
from sgbt.embeddings import EmbeddingTable
from sgbt.models import Bag, BagOfNgrams, BagOfWords, Sum
from sgbt.models.worst_case import Margins
from sgbt.resources import UnavailableError
from sgbt.threats import SubstitutionIndex, SubstitutionTable
from sgbt.training.balance import class_weights
from sgbt.training.beginning import examples_of, whole_vocabulary
from sgbt.training.calibration import scale
from sgbt.training.config import PRESETS
from sgbt.training.fitted_parts import margins_of
from sgbt.training.linear import ngrams as _ngrams  # noqa: F401 - it registers its trainer
from sgbt.training.linear import words as _words  # noqa: F401 - it registers its trainer
from sgbt.training.loop.listeners import Listener, preparing
from sgbt.training.loop.log import RunLog
from sgbt.training.loop.steps import Corpus
from sgbt.training.loop.trainer import trainer_of
from sgbt.training.objectives.ibp import IBP
from sgbt.training.objectives.objective import Objective, Standard
from sgbt.training.recipes import best_weight
from sgbt.training.size_settings import SizeSettings

KAPPA = 0.8
"""The share of the loss that is on the worst case."""
MOST_EPOCHS_OF_WORDS = 8
TIES = (30.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One model that was tried: its margins on dev with their worst case, and the scores that follow."""

    title: str
    model: Bag | Sum
    margins: Margins
    labels: Tensor
    log: RunLog

    @property
    def scores(self) -> dict[str, float]:
        """Shares of dev that are right and proven; nothing without dev."""
        if not (texts := len(self.labels)):
            return {}
        clean, proven = self.margins.correct(self.labels), self.margins.robust(self.labels)
        return {"accuracy": clean / texts, "certified": proven / texts, "score": proven / texts}

    def __str__(self) -> str:
        shares = "{certified:.1%} certified, {accuracy:.1%} right".format(**self.scores) if self.scores else ""
        return f"{self.title}: {shares}" if shares else self.title


@dataclass(eq=False)
class ModelSearch:
    """The models that are tried for one dataset, one after the other."""

    dataset: TextDataset
    table: SubstitutionTable | None
    tokenizer: Tokenizer
    seed: int
    listener: Listener
    read_vectors: Callable[[], EmbeddingTable] | None = None

    def __post_init__(self) -> None:
        preparing(self.listener, "words and substitutes", 0, 1)
        config = PRESETS[BagOfNgrams.kind]
        counts = self.dataset.train.tokenised(self.tokenizer).counts()
        vocabulary = whole_vocabulary(counts, self.table, minimum_count=config.minimum_count)
        index = SubstitutionIndex.build(self.table, vocabulary) if self.table is not None else None
        self.corpus = Corpus(vocabulary, counts, self.table)
        self.train, self.dev = (
            examples_of(split, self.tokenizer, vocabulary, config, index)
            for split in (self.dataset.train, self.dataset.dev)
        )
        self.labels = torch.from_numpy(self.dev.labels)
        self.weights = class_weights(self.train.labels, self.dataset.classes)
        self.settings = SizeSettings.of(int(self.train.rows.lengths.sum()), self.dataset.classes)
        self.vectors = self._vectors()

    def _vectors(self) -> EmbeddingTable | None:
        if self.read_vectors is None or not self.settings.several:
            return None
        preparing(self.listener, "word vectors", 0, 1)
        with contextlib.suppress(UnavailableError):  # they help, and are not needed
            return self.read_vectors()
        return None

    def ngrams(self) -> Candidate:
        """N-grams of synonym clusters."""
        model = BagOfNgrams(
            classes=self.dataset.classes,
            longest=self.settings.longest,
            minimum_count=self.settings.minimum_count,
            prior=self.settings.prior,
            vectors=self.vectors,
        )
        return self._fitted("n-grams over synonym clusters", model)

    def with_words(self, first: Candidate) -> Candidate:
        """A bag of words added, times the weight with the least worst-case cross-entropy on dev."""
        model = BagOfWords(classes=self.dataset.classes, features=(), ties=TIES, vectors=self.vectors)
        found = self._fitted("a bag of words", model, epochs=MOST_EPOCHS_OF_WORDS, patience=MOST_EPOCHS_OF_WORDS)
        weight = best_weight(found.margins.worst, first.margins.worst, self.labels)
        if not weight:
            return first
        scale(found.model, weight)
        margins = Margins(
            *(getattr(first.margins, name) + weight * getattr(found.margins, name) for name in ("clean", "worst"))
        )
        assert not isinstance(first.model, Sum)
        return Candidate(
            f"{first.title} and a bag of words", Sum((first.model, found.model)), margins, self.labels, first.log
        )

    def _fitted(self, title: str, model: Any, **config: Any) -> Candidate:
        preparing(self.listener, f"{title}: synonym clusters", 0, 1)
        objective: Objective = Standard() if self.table is None else IBP(kappa=KAPPA, ramp_epochs=0.0)
        trainer = trainer_of(model)
        log = trainer(
            model=trainer.prepare(model, objective, self.corpus, self.train),
            objective=objective,
            config=replace(PRESETS[model.kind], **config),
            seed=self.seed,
            corpus=self.corpus,
            train=self.train,
            dev=self.dev,
            folder=None,
            settings="",
            listener=self.listener,
            class_weights=self.weights,
        ).run()
        return Candidate(title, model.eval(), self._margins(model), self.labels, log)

    def _margins(self, model: Any) -> Margins:
        if self.table is not None:
            return margins_of(model, self.dev)
        ids = self.dev.ids
        clean = torch.zeros(len(ids), self.dataset.classes)
        with torch.no_grad():
            for batch in batches(ids, size=256, words=1 << 15):
                clean[batch.rows] = model(batch.ids, batch.mask).float()
        clean = clean - clean.gather(1, self.labels.unsqueeze(1))
        return Margins(clean, clean)
