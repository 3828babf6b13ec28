"""Training a GramBag: L-BFGS on all texts at once, the loss on a bound of the worst case over all substitutions.

A weight is written as w = r v. r is what a run of codes tells by itself: the log of how much more often texts of a
class have it than others (naive Bayes); v is what the optimiser moves, with an l2 penalty. So a run that tells nothing
costs much to use, and one that tells much costs little: this is what makes linear models of a million runs good (Wang
and Manning 2012, "Baselines and bigrams"). Runs that substitution can bring share the texts they can stand in, so that
a run and what it can become start with like weights. The loss is convex and nothing is drawn at random, so it has one
minimum. It takes minutes; a run that was interrupted starts again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.data import RaggedIds
from sgbt.lexicon import UNKNOWN
from sgbt.lexicon.codes import community_codes
from sgbt.models import GramBag
from sgbt.training.bag_blocks import Margins
from sgbt.training.bag_options import RowSets
from sgbt.training.gram_sides import Gathered, Side, gather, keys_told, sides_of
from sgbt.training.ibp import IBP
from sgbt.training.log import RunLog
from sgbt.training.loop import Trainer
from sgbt.training.objective import Corpus
from sgbt.training.steps import Examples

TEMPERATURE = 0.1
"""How much the greatest option of a cell is smoothed, in units of margin: L-BFGS wants a smooth loss."""
STEPS = 5
"""Steps of L-BFGS in what is called an epoch elsewhere."""


@dataclass
class GramTrainer(Trainer):
    """One run of L-BFGS; after every few steps dev is scored, and the best weights are kept."""

    kappa: float = field(init=False)

    def run(self) -> RunLog:
        """Train to the end; the model has its features and the best weights afterwards."""
        model = self.model
        assert isinstance(model, GramBag)
        self.kappa = self.objective.kappa if isinstance(self.objective, IBP) else 0.0
        found = self._gathered(self.train)
        keys = keys_told(found, minimum_count=model.config.minimum_count)
        model.adopt(codes=model.codes, keys=keys)
        train, dev = (
            sides_of(parts, part.labels, keys) if len(part) else []
            for parts, part in ((found, self.train), (self._gathered(self.dev), self.dev))
        )
        del found
        log = RunLog.resume(self.folder, epoch=0, step=0)
        ratios = told_ratios(train, len(keys), model.config.classes, model.config.prior)
        self._descend(model, ratios, train, dev, log)
        return log

    def _gathered(self, examples: Examples) -> list[Gathered]:
        model, rows = self.model, examples.rows
        assert isinstance(model, GramBag)
        index = examples.substitutions if self.kappa else None
        if index is None:  # a row that only the table knows is then just an unknown word
            rows = RaggedIds(np.where(rows.flat < examples.vocabulary_size, rows.flat, UNKNOWN), rows.starts)
        maps, config = [RowSets.of(codes, index) for codes in model.maps], model.config
        return gather(rows, maps, longest=config.longest, ending=config.ending)

    def _descend(self, model: GramBag, ratios: Tensor, train: list[Side], dev: list[Side], log: RunLog) -> None:
        values = torch.zeros_like(ratios, requires_grad=True)
        bias = torch.zeros(model.config.classes, requires_grad=True)
        optimiser = torch.optim.LBFGS([values, bias], max_iter=STEPS, history_size=10, line_search_fn="strong_wolfe")
        parts: dict[str, float] = {}

        def closure() -> Tensor:
            optimiser.zero_grad()
            shares = self._losses([side.margins(ratios * values, bias, smooth=TEMPERATURE) for side in train], train)
            loss = torch.stack([*shares.values()]).sum() + 0.5 * self.config.weight_decay * (values**2).sum()
            loss.backward()
            parts.update({name: float(share.detach()) for name, share in shares.items()})
            return loss

        best, waited = -1.0, 0
        for epoch in range(self.config.epochs):
            self.listener.epoch(epoch, self.config.epochs, 1)
            optimiser.step(closure)
            weight = (ratios * values).detach()
            accuracy = _shares(train, weight, bias.detach())["accuracy"]
            log.add(epoch=epoch, step=0, parts=dict(parts), accuracy=accuracy, texts=len(self.train))
            self.listener.step(0, dict(parts), accuracy, len(self.train))
            scores = _shares(dev, weight, bias.detach()) if dev else {}
            if scores:
                scores = scores if self.kappa else {"accuracy": scores["accuracy"]}
                scores["score"] = scores["certified" if self.kappa else "accuracy"]
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

    def _losses(self, margins: list[Margins], sides: list[Side]) -> dict[str, Tensor]:
        """Cross-entropy on the texts and on the worst case, in the shares of the objective."""
        labels = torch.cat([torch.full((side.texts,), side.label) for side in sides])
        kinds = {"cross_entropy": (1 - self.kappa, "clean"), "worst_case": (self.kappa, "worst")}
        return {
            name: share * F.cross_entropy(torch.cat([getattr(part, which) for part in margins]), labels)
            for name, (share, which) in kinds.items()
            if share
        }


def fit_codes(model: GramBag, corpus: Corpus) -> None:
    """Give the model its codes; without a table every word is its own."""
    if corpus.table is None:
        maps = [torch.arange(len(corpus.vocabulary)) for _ in model.config.resolutions]
    else:
        words = (corpus.vocabulary, corpus.table, corpus.counts)
        found = (community_codes(*words, resolution=resolution) for resolution in model.config.resolutions)
        maps = [torch.from_numpy(codes) for codes in found]
    model.adopt(codes=torch.stack(maps) if len(maps) > 1 else maps[0], keys=model.keys)


def told_ratios(sides: list[Side], features: int, classes: int, prior: float) -> Tensor:
    """log (share of a feature among those of a class's texts / its share among those of all other texts)."""
    counts = torch.full((classes, features), prior, dtype=torch.float64)
    for side in sides:
        counts[side.label] += side.told(features)
    others = counts.sum(dim=0) - counts
    ratios = (counts / counts.sum(dim=1, keepdim=True)).log() - (others / others.sum(dim=1, keepdim=True)).log()
    return ratios.t().contiguous().float()


@torch.no_grad()
def _shares(sides: list[Side], weight: Tensor, bias: Tensor) -> dict[str, float]:
    """The shares of texts that are labelled rightly as they are, and whatever is replaced."""
    right = proven = 0
    for side in sides:
        found = side.margins(weight, bias)
        others = torch.arange(weight.shape[1]) != side.label
        right += int((found.clean[:, others].amax(dim=1) < 0).sum())
        proven += int((found.worst[:, others].amax(dim=1) < 0).sum())
    texts = sum(side.texts for side in sides)
    return {"accuracy": right / texts, "certified": proven / texts}
