"""Training a BagOfWords: Adam on large blocks of texts, the loss on the worst case over all substitutions.

The worst case is a maximum of linear functions of the weights, so the loss is convex in them; only the order of blocks
and dropout are random. The learning rate decays to zero as (1 - t)^2: substitutes reach equal weights only while steps
are small. Around ambiguous words, training and the choice by dev use a bound slightly above the
exact worst case (`PositionOptions`); certificates use the exact one. Everything stays on the CPU.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from sgbt.core.errors import TrainingError
from sgbt.data import RaggedIds
from sgbt.models import BagOfWords
from sgbt.models.bag_of_words.blocks import Piece, margins, options_of, pieces, positions_of
from sgbt.models.bag_of_words.options import READS, PositionKinds, RowSets, frequent_keys
from sgbt.models.worst_case import Margins
from sgbt.threats import PADDING, UNKNOWN
from sgbt.training.initialisers import cluster_vectors
from sgbt.training.loop.dev_scores import dev_scores
from sgbt.training.loop.log import RunLog
from sgbt.training.loop.steps import Corpus, Examples, ProcessShare, mixed
from sgbt.training.loop.trainer import Going, Taken, Trainer, trainer_of
from sgbt.training.objectives.objective import Loss, Objective, Parts, mixed_cross_entropy
from sgbt.training.sharing import TiedWeights, tied_levels

TEXTS_AT_ONCE = 2500
MOST_LISTED = 50_000_000
"""Ways to put a word between codes, over all texts: where there are more, they are in `bag_of_words.tables`."""
MOST_LISTED_AT_ONCE = 5_000_000
"""The same, in so many texts as dev has in a block."""
MOST_FEATURES = 600_000_000
"""Features of words beside codes in all tables: more of them do not fit into memory. A model that reads single words
has no such limit."""


def fit_features(model: BagOfWords, corpus: Corpus, train: Examples) -> None:
    """Give the model its codes, and a weight for every feature that train has often enough."""
    if model.config.features:
        codes = torch.from_numpy(corpus.clusters(model.config.resolution))
    else:  # nothing reads codes, so there need be only one
        codes = torch.full((len(corpus.vocabulary),), UNKNOWN)
        codes[PADDING] = PADDING
    keys = torch.zeros(0, dtype=torch.int64)
    if model.config.features:
        sets = RowSets.of(codes, train.substitutions)
        (kinds,) = _kinds(train.rows, sets, len(train.rows))
        _check_room(model, kinds, sets)
        keys = frequent_keys(model.config.features, kinds, sets, codes, minimum_count=model.config.minimum_count)
    model.adopt(codes=codes, keys=keys)


def _check_room(model: BagOfWords, kinds: PositionKinds, sets: RowSets) -> None:
    """Refuse texts with more combinations of features than memory can hold, neither one by one nor as tables."""
    total, tables = kinds.options(sets), 0
    for reads in (READS[name] for name in model.config.features):
        tables += kinds.read_by(reads, sets).options(sets if reads.word else sets.by_code)
    if total > MOST_LISTED and tables > MOST_FEATURES:
        raise TrainingError(
            expected=f"at most {MOST_FEATURES:,} features of words and neighbouring clusters, in all texts",
            got=f"{tables:,}, of {total:,} combinations of a word and its neighbours' clusters",
            where="a BagOfWords",
            remedy="let it read single words (features = []), lower its resolution, or take a smaller table",
        )


def _kinds(texts: RaggedIds, sets: RowSets, at_once: int) -> Iterator[PositionKinds]:
    for rows in _chunks(len(texts), max(at_once, 1)):
        flat, _, first = positions_of(texts, rows)
        yield PositionKinds.of(flat, first, sets, alone=False)


@dataclass(frozen=True, slots=True, eq=False)
class StepTexts:
    """The texts of one step."""

    pieces: tuple[Piece, ...]
    labels: Tensor
    weight: float = 1.0


class BagLoss(Loss):
    """Cross-entropy on the worst case and on the texts themselves, in the shares of the objective.

    The model's weight is here what the optimiser moves; `ties` make the weights of features from it.
    """

    model: BagOfWords

    def __init__(
        self,
        model: BagOfWords,
        objective: Objective,
        ties: TiedWeights | None,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__(model, objective)
        self.ties, self.class_weights = ties, class_weights
        self.right = 0

    def start(self, step: Any) -> dict[str, float]:
        """Nothing is fixed beforehand."""
        return {}

    def weight(self) -> Tensor:
        """The weights of all features."""
        weight = self.model.weight
        return weight if self.ties is None else self.ties.weights(weight)

    def forward(self, block: Any) -> Parts:
        """The loss parts of one block; `right` is then how many of its texts the model labels rightly as they are."""
        bag, kappa, weight = self.model, self.objective.worst_case_share, self.weight()
        if bag.config.dropout:
            weight = weight * ((torch.rand(len(weight), 1) >= bag.config.dropout) / (1 - bag.config.dropout))
        wanted = {"clean": kappa < 1, "worst": kappa > 0}
        found = [margins(piece, weight, bag.bias, bag.places, **wanted) for piece in block.pieces]
        clean, worst = (torch.cat([getattr(part, name) for part in found]) for name in ("clean", "worst"))
        self.right = int((clean.argmax(dim=1) == block.labels).sum())
        return mixed_cross_entropy(clean, worst, block.labels, share=kappa, class_weights=self.class_weights)


@dataclass
class BagOfWordsTrainer(Trainer):
    """The loop over blocks whose features are looked up before it."""

    linear: ClassVar[bool] = True

    model: BagOfWords
    blocks: list[StepTexts] = field(init=False)
    dev_blocks: list[StepTexts] = field(init=False)
    loss: BagLoss = field(init=False)

    @classmethod
    def prepare(cls, model: BagOfWords, objective: Objective, corpus: Corpus, train: Examples) -> BagOfWords:
        """The model with a weight for every feature that train has often enough."""
        fit_features(model, corpus, train)
        return model

    def __post_init__(self) -> None:
        order = np.random.default_rng(mixed(self.seed)).permutation(len(self.train.rows))
        self.blocks = self._blocks(self.train, order, self.config.batch_size)
        self.dev_blocks = self._blocks(self.dev, np.arange(len(self.dev.rows)), TEXTS_AT_ONCE)
        bag, levels, ties = self.model, self._levels(), None
        if levels is not None:
            vectors = self._vectors(levels)
            ties = TiedWeights.of(bag, torch.from_numpy(levels), vectors)
            bag.weight = nn.Parameter(bag.weight.new_zeros(ties.parts, bag.config.classes))
            shared = levels.tobytes() + (b"" if vectors is None else vectors.numpy().tobytes())
            self.settings = hashlib.sha256(self.settings.encode() + shared).hexdigest()
        self.loss = BagLoss(bag, self.objective, ties, self.class_weights)

    def run(self) -> RunLog:
        """Train to the end; the model has the weights of its features afterwards."""
        log = super().run()
        with torch.no_grad():
            self.model.weight = nn.Parameter(self.loss.weight().detach().clone())
        self.model.source = None  # vectors are for training alone
        return log

    def _levels(self) -> np.ndarray | None:
        """The clusters whose words are tied, [levels, ids], or None where nothing is replaced or tied."""
        bag, corpus = self.model, self.corpus
        if corpus.table is None or not self.objective.needs_substitutions:
            return None
        if not bag.config.ties:
            return np.zeros((0, len(corpus.vocabulary)), np.int64) if bag.config.from_vectors else None
        return tied_levels(corpus, bag.config.ties)

    def _vectors(self, levels: np.ndarray) -> Tensor | None:
        """Word vectors averaged over the clusters of the middle level; None where the model does not use vectors."""
        bag, corpus = self.model, self.corpus
        if not bag.config.from_vectors:
            return None
        if bag.source is None:
            raise TrainingError(
                expected="word vectors for a BagOfWords that learns from them",
                got="none",
                remedy="BagOfWords(vectors=...)",
            )
        middle = levels[len(levels) // 2] if len(levels) else np.arange(levels.shape[1])
        return cluster_vectors(corpus.vocabulary, bag.source, corpus.counts, middle)

    def _blocks(self, examples: Examples, order: np.ndarray, size: int) -> list[StepTexts]:
        index = examples.substitutions if self.objective.needs_substitutions else None
        rows = examples.ids if index is None else examples.rows
        model = self.model
        sets = RowSets.of(model.codes, index)
        options, found = None if self._few_options(rows, sets) else options_of(model, rows, sets), []
        for chunk in _chunks(len(order), size):
            parts = tuple(pieces(model, rows, examples.labels, np.sort(order[chunk]), sets, options=options))
            labels = [piece.label for piece in parts for _ in piece.rows]
            found.append(StepTexts(parts, torch.tensor(labels, dtype=torch.int64)))
        return found

    def _few_options(self, rows: RaggedIds, sets: RowSets) -> bool:
        if not self.model.config.features:
            return True
        options = [kinds.options(sets) for kinds in _kinds(rows, sets, TEXTS_AT_ONCE)]
        return sum(options) <= MOST_LISTED and max(options) <= MOST_LISTED_AT_ONCE

    def _loss(self) -> Loss:
        return self.loss

    def _batches(self, epoch: int, share: ProcessShare, skipped: int = 0) -> Iterator[Any]:
        order = np.random.default_rng(mixed(self.seed, epoch)).permutation(len(self.blocks))
        return (self.blocks[place] for place in order[skipped:])

    def _step(self, going: Going, step: Any, epoch: int, number: int) -> Taken:
        return replace(super()._step(going, step, epoch, number), accuracy=self.loss.right / len(step.labels))

    def _rate(self, done: float) -> float:
        return float(self.config.learning_rate * (1 - done) ** (self.config.learning_rate_decay or 2.0))

    @torch.no_grad()
    def scores(self) -> dict[str, float]:
        """Accuracy on dev and, for objectives that certify, the share that the bound of training proves."""
        return dev_scores(self._dev_margins(), certifies=self.objective.certifies)

    def _dev_margins(self) -> Iterator[tuple[Margins, Tensor]]:
        bag, weight = self.model, self.loss.weight()
        for piece in chain.from_iterable(block.pieces for block in self.dev_blocks):
            found = margins(piece, weight, bag.bias, bag.places, clean=True, worst=self.objective.certifies)
            yield found, torch.full((len(piece.rows),), piece.label)


@trainer_of.register
def _trainer(model: BagOfWords) -> type[Trainer]:
    return BagOfWordsTrainer


def _chunks(texts: int, size: int) -> list[np.ndarray]:
    return np.array_split(np.arange(texts), max(math.ceil(texts / size), 1))
