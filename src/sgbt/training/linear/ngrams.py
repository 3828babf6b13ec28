"""Training a BagOfNgrams: L-BFGS on all texts at once, the loss on a bound of the worst case over all substitutions.

A weight is w = r v. r is the log-count ratio of an n-gram of codes (naive Bayes): how much more often texts of a class
have it than others; v is optimised with an l2 penalty (Wang and Manning 2012, "Baselines and bigrams"). N-grams that
substitution can bring share the counts of the texts they can occur in, so that an n-gram and what it can become start
with like weights. Where the model has word vectors, an n-gram of one code has w = r v + e u, with e the mean vector of
its words and u learnt as v is (`sgbt.training.linear.code_vectors`). The loss is convex and nothing is random, so it
has one minimum. It takes minutes; an interrupted training starts again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds
from sgbt.models import BagOfNgrams, BagOfNgramsConfig
from sgbt.models.bag_of_ngrams.margins import Gathered, LabelGrams, by_label, check_room, frequent_grams, gather
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.bag_of_words.options import RowSets
from sgbt.models.worst_case import Margins
from sgbt.threats.labelled_communities import labelled_codes
from sgbt.threats.synonym_clusters import cluster_codes
from sgbt.training.drops import Drops
from sgbt.training.linear.code_vectors import CodeVectors
from sgbt.training.linear.edits import Edited, RunsOfPlaces, known_runs
from sgbt.training.loop.dev_scores import dev_scores
from sgbt.training.loop.listeners import preparing
from sgbt.training.loop.log import RunLog
from sgbt.training.loop.steps import Corpus, Examples
from sgbt.training.loop.trainer import Trainer, trainer_of
from sgbt.training.objectives.objective import Objective, Parts, mixed_cross_entropy

TEMPERATURE = 0.1
"""How much the greatest option of a cell is smoothed, in units of margin: L-BFGS wants a smooth loss."""
Texts = LabelGrams | Edited
STEPS = 5
"""Steps of L-BFGS in what is called an epoch elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of all features, from what is optimised; `vectors` are of the features at `places`."""

    ratios: Tensor
    places: Tensor
    vectors: Tensor

    def start(self) -> tuple[Tensor, Tensor]:
        """What is optimised: own values, and a linear function of the vectors."""
        shared = torch.zeros(self.vectors.shape[1], self.ratios.shape[1], requires_grad=True)
        return torch.zeros_like(self.ratios, requires_grad=True), shared

    def of(self, values: Tensor, shared: Tensor) -> Tensor:
        """The weights, [features, classes]."""
        return (self.ratios * values).index_add(0, self.places, self.vectors @ shared)


@dataclass
class BagOfNgramsTrainer(Trainer):
    """One run of L-BFGS; after every few steps dev is scored, and the best weights are kept."""

    linear: ClassVar[bool] = True

    model: BagOfNgrams

    @classmethod
    def prepare(cls, model: BagOfNgrams, objective: Objective, corpus: Corpus, train: Examples) -> BagOfNgrams:
        """The model with its maps from words to clusters; `run` finds the n-grams."""
        maps = [torch.from_numpy(codes) for codes in clusters(model.config, corpus, train)]
        model.adopt(codes=torch.stack(maps) if len(maps) > 1 else maps[0], keys=model.keys)
        return model

    @property
    def kappa(self) -> float:
        """The share of the loss that is on the worst case."""
        return self.objective.worst_case_share

    def run(self) -> RunLog:
        """Train to the end; the model has its features and the best weights afterwards."""
        model = self.model
        for part in (self.train, self.dev):
            rows, maps = self._read(part)
            check_room(rows, maps, longest=model.config.longest, ending=model.config.ending)
        found = self._gathered(self.train, "n-grams of train")
        keys = frequent_grams(found, minimum_count=model.config.minimum_count)
        if self.objective.edits is not None:
            keys = known_runs(keys)
        known = self._vectors()
        keys = torch.cat([keys, known.keys]).unique()
        model.adopt(codes=model.codes, keys=keys)
        train, dev = (
            self._by_label(parts, part, keys) if len(part) else []
            for parts, part in ((found, self.train), (self._gathered(self.dev, "n-grams of dev"), self.dev))
        )
        del found
        log = RunLog.resume(self.folder, epoch=0, step=0)
        ratios = log_count_ratios(train, len(keys), model.config.classes, model.config.prior)
        self._descend(Weights(ratios, places_of(keys, known.keys), known.vectors), train, dev, log)
        model.source = None  # vectors are for training alone
        return log

    def _vectors(self) -> CodeVectors:
        model, corpus = self.model, self.corpus
        if model.source is None:
            return CodeVectors.none()
        return CodeVectors.of(model.maps, corpus.vocabulary, model.source, corpus.counts)

    def _gathered(self, examples: Examples, title: str) -> list[Gathered]:
        rows, maps = self._read(examples)
        progress = partial(preparing, self.listener, title)
        return gather(rows, maps, longest=self.model.config.longest, ending=self.model.config.ending, progress=progress)

    def _by_label(self, gathered: list[Gathered], examples: Examples, keys: Tensor) -> list[Texts]:
        """All texts, those of each label together, with what they lose if the objective says so."""
        found = by_label(gathered, examples.labels, keys)
        edits = self.objective.edits
        if edits is None:
            return list(found)
        drops = [Drops.of(edit, self.corpus.vocabulary) for edit in edits.edits if edit.at_most]
        rows, maps = self._read(examples)
        codes, order = [sets.codes[:, 0] for sets in maps], np.concatenate([part.rows for part in gathered])
        longest = self.model.config.longest
        return [
            Edited(
                each,
                RunsOfPlaces.of(
                    rows, order[examples.labels[order] == each.label], each.label, codes, keys, longest=longest
                ),
                drops,
            )
            for each in found
        ]

    def _read(self, examples: Examples) -> tuple[RaggedIds, list[RowSets]]:
        """The words of texts as rows, and the codes that every row can have by each map."""
        index = examples.substitutions if self.kappa else None
        rows = examples.ids if index is None else examples.rows
        return rows, [RowSets.of(codes, index) for codes in self.model.maps]

    def _descend(self, weights: Weights, train: list[Texts], dev: list[Texts], log: RunLog) -> None:
        model, moved = self.model, weights.start()
        bias = torch.zeros(model.config.classes, requires_grad=True)
        optimiser = torch.optim.LBFGS([*moved, bias], max_iter=STEPS, history_size=10, line_search_fn="strong_wolfe")
        parts: dict[str, float] = {}

        def closure() -> Tensor:
            optimiser.zero_grad()
            shares = self._losses([part.margins(weights.of(*moved), bias, smooth=TEMPERATURE) for part in train], train)
            penalty = torch.stack([each.square().sum() for each in moved]).sum()
            loss = torch.stack([*shares.values()]).sum() + 0.5 * self.config.weight_decay * penalty
            loss.backward()
            parts.update({name: float(share.detach()) for name, share in shares.items()})
            return loss

        best, waited = -1.0, 0
        for epoch in range(self.config.epochs):
            self.listener.epoch(epoch, self.config.epochs, 1)
            optimiser.step(closure)
            weight = weights.of(*moved).detach()
            accuracy = _scores(train, weight, bias.detach(), certifies=False)["accuracy"]
            log.add(epoch=epoch, step=0, parts=dict(parts), accuracy=accuracy, texts=len(self.train))
            self.listener.step(0, dict(parts), accuracy, len(self.train))
            scores = _scores(dev, weight, bias.detach(), certifies=bool(self.kappa))
            better = not scores or scores["score"] > best
            if better:
                best, waited = scores.get("score", best), 0
                with torch.no_grad():
                    model.weight.copy_(weight)
                    model.bias.copy_(bias)
            log.add(epoch=epoch, step=1, dev=scores, best=better)
            self.listener.scores(epoch, scores, better)
            log.flush()
            waited += not better
            if waited >= self.config.patience:
                break

    def _losses(self, margins: list[Margins], texts: list[Texts]) -> Parts:
        """Cross-entropy on the texts and on the worst case, in the shares of the objective."""
        labels = torch.cat([torch.full((part.texts,), part.label) for part in texts])
        clean, worst = (torch.cat([getattr(part, which) for part in margins]) for which in ("clean", "worst"))
        return mixed_cross_entropy(clean, worst, labels, share=self.kappa, class_weights=self.class_weights)


def clusters(config: BagOfNgramsConfig, corpus: Corpus, train: Examples) -> list[np.ndarray]:
    """The code of every id by each map: by links alone, or by the labels of train as well."""
    if corpus.table is None or not (config.label_weight or config.distinction):
        return [corpus.clusters(resolution) for resolution in config.resolutions]
    vocabulary, table, weight = corpus.vocabulary, corpus.table, config.label_weight
    known = train.rows.flat < len(vocabulary)
    label = np.repeat(train.labels, train.rows.lengths)[known] * len(vocabulary)
    size = config.classes * len(vocabulary)
    by_label = np.bincount(label + train.rows.flat[known], minlength=size).reshape(config.classes, -1).T
    given = (vocabulary, table, corpus.counts, by_label)
    first, *others = (
        partial(labelled_codes, *given, resolution=each, label_weight=weight)
        if weight
        else partial(corpus.clusters, each)
        for each in config.resolutions
    )
    if config.distinction:
        first = partial(cluster_codes, vocabulary, table, by_label, distinction=config.distinction, relevance=1.0)
    return [codes() for codes in (first, *others)]


@trainer_of.register
def _trainer(model: BagOfNgrams) -> type[Trainer]:
    return BagOfNgramsTrainer


def log_count_ratios(texts: list[Texts], features: int, classes: int, prior: float) -> Tensor:
    """log (share of a feature among those of a class's texts / its share among those of all other texts)."""
    counts = torch.full((classes, features), prior, dtype=torch.float64)
    for part in texts:
        counts[part.label] += part.document_counts(features)
    others = counts.sum(dim=0) - counts
    ratios = (counts / counts.sum(dim=1, keepdim=True)).log() - (others / others.sum(dim=1, keepdim=True)).log()
    return ratios.t().contiguous().float()


@torch.no_grad()
def _scores(texts: list[Texts], weight: Tensor, bias: Tensor, *, certifies: bool) -> dict[str, float]:
    found = ((part.margins(weight, bias), torch.full((part.texts,), part.label)) for part in texts)
    return dev_scores(found, certifies=certifies)
