"""Training a LinearBag: Adam on large blocks of texts, the loss on the worst case over all substitutions.

The worst case is a maximum of linear functions of the weights, so the loss is convex in them, and nothing is drawn at
random but the order of blocks (and dropout). The learning rate falls to zero as (1 - t)^2: substitutes settle at one
weight only while steps are small. Around ambiguous words, training and the choice by dev use a bound slightly above the
exact worst case (`PositionOptions`); certificates use the exact one. Everything stays on the CPU.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.data import RaggedIds
from sgbt.errors import TrainingError
from sgbt.lexicon import PADDING, UNKNOWN, SubstitutionTable, Vocabulary
from sgbt.lexicon.codes import community_codes
from sgbt.models import AnyModel, LinearBag
from sgbt.training.bag_blocks import Piece, margins, pieces, positions_of
from sgbt.training.bag_options import PositionKinds, PositionOptions, RowSets, frequent_keys
from sgbt.training.bag_ties import BagTies
from sgbt.training.bag_vectors import vectors_of_communities
from sgbt.training.certified import Certified
from sgbt.training.ibp import IBP
from sgbt.training.log import RunLog
from sgbt.training.loop import Going, Taken, Trainer
from sgbt.training.loss import Loss
from sgbt.training.objective import Corpus, Objective, Parts, Standard
from sgbt.training.steps import Examples, Share, mixed
from sgbt.training.ties import tied_levels

TEXTS_AT_ONCE = 2500
MOST_OPTIONS = 200_000_000
"""Ways to put a word between codes, over all texts: more of them do not fit into memory. A model that reads single
words has no such limit."""
OPTIONS_AT_ONCE = 10_000_000


def bag_vocabulary(counts: Counter[str], table: SubstitutionTable | None, *, rare: int) -> Vocabulary:
    """Words that train has at least `rare` times, and every word of the table.

    With the whole table in it, a word that train lacks still has its code, and is never taken for an unknown one.
    """
    known = set(table.entries).union(*table.entries.values()) if table is not None else set()
    kept = {word: counts.get(word, 0) for word in known}
    kept |= {word: count for word, count in counts.items() if count >= rare}
    return Vocabulary.build(kept, minimum_count=0)


def bag_objective(objective: Objective) -> Objective:
    """What an objective means for a linear model: which share of the loss is on the worst case.

    The worst case is exact, so nothing that makes a bound tight applies: no growth penalty, no schedule, no embedding
    in which to draw substitutes together. An objective that is made of these is refused, and so are such options of
    `Certified` when they were set.
    """
    if type(objective) is Standard:
        return objective
    if type(objective) is Certified:
        plain, parts = (
            Certified(),
            ("beta", "gamma", "drawn_together", "code_channel", "bag_channel", "from_bag", "ties"),
        )
        odd = [name for name in parts if getattr(objective, name) not in (getattr(plain, name), 0)]
        if odd:
            raise TrainingError(
                wanted="an objective certified without growth penalties, ties or channels for a linear model",
                got=f"{odd[0]} = {getattr(objective, odd[0])}",
                remedy="leave it out: the worst case of a linear model is exact",
            )
    elif type(objective) is not IBP:
        raise TrainingError(
            wanted="one of standard, ibp, certified for a linear model", got=objective.name, where="the objective"
        )
    assert isinstance(objective, IBP)
    if objective.epsilon != 1:
        raise TrainingError(wanted="epsilon of 1 for a linear model", got=str(objective.epsilon), where="the objective")
    return IBP(kappa=objective.kappa, ramp_epochs=0.0)


def fit_features(model: LinearBag, corpus: Corpus, train: Examples) -> None:
    """Give the model its codes, and a weight for every feature that train has often enough."""
    if not model.config.features:  # nothing reads codes, so there need be only one
        codes = torch.full((len(corpus.vocabulary),), UNKNOWN)
        codes[PADDING] = PADDING
    elif corpus.table is None:
        codes = torch.arange(len(corpus.vocabulary))
    else:
        found = community_codes(corpus.vocabulary, corpus.table, corpus.counts, resolution=model.config.resolution)
        codes = torch.from_numpy(found)
    parts: Iterator[tuple[PositionOptions, Tensor]] = iter(())
    if model.config.features:
        parts = _counted(train, RowSets.of(codes, train.substitutions))
    keys = frequent_keys(model.config.features, parts, codes, minimum_count=model.config.minimum_count)
    model.adopt(codes=codes, keys=keys)


def _counted(train: Examples, sets: RowSets) -> Iterator[tuple[PositionOptions, Tensor]]:
    """The options of all texts, some texts at a time, and how often each stands there; too many are refused."""
    total = sum(kinds.options(sets) for kinds in _kinds(train, sets, TEXTS_AT_ONCE))
    if total > MOST_OPTIONS:
        raise TrainingError(
            wanted=f"at most {MOST_OPTIONS:,} ways to put a word between codes, in all texts together",
            got=f"{total:,}",
            where="a LinearBag",
            remedy="let it read single words (features = []), lower its resolution, or take a smaller table",
        )
    share = len(train.rows) * OPTIONS_AT_ONCE // max(total, 1)
    for kinds in _kinds(train, sets, min(max(share, 1), TEXTS_AT_ONCE)):
        yield PositionOptions.of(kinds, sets), kinds.counts


def _kinds(train: Examples, sets: RowSets, texts: int) -> Iterator[PositionKinds]:
    for rows in _chunks(len(train.rows), texts):
        flat, _, first = positions_of(train.rows, rows)
        yield PositionKinds.of(flat, first, sets, alone=False)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The texts of one step."""

    pieces: tuple[Piece, ...]
    labels: Tensor
    weight: float = 1.0


class BagLoss(Loss):
    """Cross-entropy on the worst case and on the texts themselves, in the shares of the objective.

    The model's weight is here what the optimiser moves; `ties` make the weights of features from it.
    """

    def __init__(self, model: LinearBag, objective: Objective, ties: BagTies | None) -> None:
        super().__init__(model, objective)
        self.ties = ties
        self.right = 0

    def start(self, step: Any) -> dict[str, float]:
        """Nothing is fixed beforehand."""
        return {}

    def weight(self) -> Tensor:
        """The weights of all features."""
        weight = _bag(self.model).weight
        return weight if self.ties is None else self.ties.weights(weight)

    def forward(self, block: Any) -> Parts:
        """The loss parts of one block; `right` is then how many of its texts the model labels rightly as they are."""
        bag, kappa = _bag(self.model), self.objective.kappa if isinstance(self.objective, IBP) else 0.0
        weight = self.weight()
        if bag.config.dropout:
            weight = weight * ((torch.rand(len(weight), 1) >= bag.config.dropout) / (1 - bag.config.dropout))
        wanted = {"clean": kappa < 1, "worst": kappa > 0}
        found = [margins(piece, weight, bag.bias, bag.places, **wanted) for piece in block.pieces]
        clean, worst = (torch.cat([getattr(part, name) for part in found]) for name in ("clean", "worst"))
        self.right = int((clean.argmax(dim=1) == block.labels).sum())
        shares = {"cross_entropy": (1 - kappa, clean), "worst_case": (kappa, worst)}
        return {
            name: share * F.cross_entropy(logits, block.labels) for name, (share, logits) in shares.items() if share
        }


@dataclass
class LinearTrainer(Trainer):
    """The loop over blocks whose features were looked up beforehand."""

    corpus: Corpus = field(kw_only=True)
    blocks: list[Block] = field(init=False)
    dev_blocks: list[Block] = field(init=False)
    loss: BagLoss = field(init=False)

    def __post_init__(self) -> None:
        order = np.random.default_rng(mixed(self.seed)).permutation(len(self.train.rows))
        self.blocks = self._blocks(self.train, order, self.config.batch_size)
        self.dev_blocks = self._blocks(self.dev, np.arange(len(self.dev.rows)), TEXTS_AT_ONCE)
        bag, levels, ties = _bag(self.model), self._levels(), None
        if levels is not None:
            vectors = self._vectors(levels)
            ties = BagTies.of(bag, torch.from_numpy(levels), vectors)
            bag.weight = nn.Parameter(bag.weight.new_zeros(ties.parts, bag.config.classes))
            told = levels.tobytes() + (b"" if vectors is None else vectors.numpy().tobytes())
            self.settings = hashlib.sha256(self.settings.encode() + told).hexdigest()
        self.loss = BagLoss(bag, self.objective, ties)

    def run(self) -> RunLog:
        """Train to the end; the model has the weights of its features afterwards."""
        log = super().run()
        with torch.no_grad():
            _bag(self.model).weight = nn.Parameter(self.loss.weight().detach().clone())
        return log

    def _levels(self) -> np.ndarray | None:
        """The communities whose words are tied, [levels, ids], or None where nothing is replaced or tied."""
        bag, corpus = _bag(self.model), self.corpus
        if corpus.table is None or not self.objective.needs_substitutions:
            return None
        if not bag.config.ties:
            return np.zeros((0, len(corpus.vocabulary)), np.int64) if bag.config.from_vectors else None
        return tied_levels(corpus, bag.config.ties)

    def _vectors(self, levels: np.ndarray) -> Tensor | None:
        """What vectors say of words, averaged over the communities of the middle level; None where none take part."""
        bag, corpus = _bag(self.model), self.corpus
        if not bag.config.from_vectors:
            return None
        if bag.source is None:
            raise TrainingError(
                wanted="word vectors for a LinearBag that learns from them", got="none", remedy="LinearBag(vectors=...)"
            )
        middle = levels[len(levels) // 2] if len(levels) else np.arange(levels.shape[1])
        return vectors_of_communities(corpus.vocabulary, bag.source, corpus.counts, middle)

    def _blocks(self, examples: Examples, order: np.ndarray, size: int) -> list[Block]:
        index = examples.substitutions if self.objective.needs_substitutions else None
        rows = examples.rows
        if index is None:  # a row that only the table knows is then just an unknown word
            rows = RaggedIds(np.where(rows.flat < examples.vocabulary_size, rows.flat, UNKNOWN), rows.starts)
        model = _bag(self.model)
        sets = RowSets.of(model.codes, index)
        found = []
        for chunk in _chunks(len(order), size):
            parts = tuple(pieces(model, rows, examples.labels, np.sort(order[chunk]), sets))
            labels = [piece.label for piece in parts for _ in piece.rows]
            found.append(Block(parts, torch.tensor(labels, dtype=torch.int64)))
        return found

    def _loss(self) -> Loss:
        return self.loss

    def _batches(self, epoch: int, share: Share, skipped: int = 0) -> Iterator[Any]:
        order = np.random.default_rng(mixed(self.seed, epoch)).permutation(len(self.blocks))
        return (self.blocks[place] for place in order[skipped:])

    def _step(self, going: Going, step: Any, epoch: int, number: int) -> Taken:
        return replace(super()._step(going, step, epoch, number), accuracy=self.loss.right / len(step.labels))

    def _rate(self, done: float) -> float:
        return self.config.learning_rate * (1 - done) ** (self.config.fall or 2.0)

    @torch.no_grad()
    def scores(self) -> dict[str, float]:
        """Accuracy on dev and, for objectives that certify, the share that the bound of training proves."""
        bag, certifies = _bag(self.model), self.objective.certifies
        right = proven = 0
        weight = self.loss.weight()
        for piece in chain.from_iterable(block.pieces for block in self.dev_blocks):
            found = margins(piece, weight, bag.bias, bag.places, clean=True, worst=certifies)
            right += int((found.clean.argmax(dim=1) == piece.label).sum())
            others = torch.arange(bag.config.classes) != piece.label
            proven += int((found.worst[:, others].amax(dim=1) < 0).sum())
        if not len(self.dev):
            return {}
        if certifies:
            return {
                "accuracy": right / len(self.dev),
                "certified": proven / len(self.dev),
                "score": proven / len(self.dev),
            }
        return {"accuracy": right / len(self.dev), "score": right / len(self.dev)}


def _bag(model: AnyModel) -> LinearBag:
    assert isinstance(model, LinearBag)
    return model


def _chunks(texts: int, size: int) -> list[np.ndarray]:
    return np.array_split(np.arange(texts), max(math.ceil(texts / size), 1))
