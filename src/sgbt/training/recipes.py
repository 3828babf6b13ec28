"""Recipes: how a network and a linear model that is fitted first make up one classifier.

- `Recipe`: the network alone.
- `WarmStart`: the network starts as a fitted BagOfWords (`sgbt.training.initialisers.start_as_linear`).
- `Residual`: the network is trained on what the linear model leaves: its margins are added to the network's logits.
  A train text's margins come from a model that was fitted without it, or nothing would be left to learn.
- `LateFusion`: both are trained independently and their logits are added; only the choice of the network's epoch sees
  the sum. Where the two are wrong on different texts, the sum is right more often than either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from sgbt.core.errors import TrainingError, did_you_mean
from sgbt.core.registry import MODELS
from sgbt.embeddings import EmbeddingTable
from sgbt.models import Bag, BagOfWords, Network
from sgbt.training.config import PRESETS, with_options
from sgbt.training.fitted_parts import FittedPart, discard_initial_bag, initial_bag, part_of
from sgbt.training.initialisers import check_starts_as_linear, start_as_linear
from sgbt.training.loop.dev_scores import dev_margins
from sgbt.training.loop.listeners import Listener
from sgbt.training.loop.parallel import Processes
from sgbt.training.loop.steps import Corpus, Examples

LARGEST_WEIGHT = 4.0
HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a recipe fitted before the network: a part that is added to it, or the model that it starts as."""

    part: FittedPart | None = None
    initial: BagOfWords | None = None

    def offset(self, examples: Sequence[Examples]) -> list[Examples]:
        """Train and dev with the margins of the part."""
        if self.part is None:
            return list(examples)
        return [replace(texts, offset=margins) for texts, margins in zip(examples, self.part.margins, strict=True)]

    def start(self, model: Any, train: Examples) -> None:
        """Set the network's first weights where there is a model to start as."""
        if self.initial is not None:
            start_as_linear(model, self.initial, words=float(train.rows.lengths.mean()))


@dataclass(frozen=True)
class Recipe:
    """The network alone."""

    name: ClassVar[str] = "alone"
    description: ClassVar[str] = ""
    """One line for people who wait for what is fitted first."""

    @property
    def fits_first(self) -> bool:
        """Whether a linear model is fitted before the network, and the whole substitution table is read."""
        return bool(self.description)

    def check(self, model: Network) -> None:
        """Refuse a network that the recipe cannot train."""

    def fit(
        self,
        model: Network,
        examples: Sequence[Examples],
        corpus: Corpus,
        *,
        kappa: float,
        folder: Path | None,
        listener: Listener,
    ) -> Fitted:
        """Fit what comes first; `kappa` is the share of its loss on the worst case."""
        return Fitted()

    def weight(self, model: Network, dev: Examples, device: torch.device) -> float | None:
        """Scale the trained network's logits for the sum, and return the weight; None where it is one."""
        return None

    def finish(self, folder: Path) -> None:
        """Remove what was kept for an interrupted run."""


@dataclass(frozen=True)
class WarmStart(Recipe):
    """The network starts as a BagOfWords of single words."""

    name: ClassVar[str] = "warm_start"
    description: ClassVar[str] = "a BagOfWords of single words is fitted first; the network starts as it (warm start)"

    def check(self, model: Network) -> None:
        """Refuse a network that cannot start as a BagOfWords."""
        check_starts_as_linear(model)

    def fit(self, model: Network, examples: Sequence[Examples], corpus: Corpus, **options: Any) -> Fitted:
        """Fit the BagOfWords; it learns from the network's vectors too."""
        classes, vectors = model.config.classes, model.embedding.source
        return Fitted(initial=initial_bag(examples, corpus, classes=classes, vectors=vectors, **options))

    def finish(self, folder: Path) -> None:
        """Remove the fitted BagOfWords."""
        discard_initial_bag(folder)


@dataclass(frozen=True)
class Residual(Recipe):
    """A linear model is added to the network, which is trained on the residual."""

    name: ClassVar[str] = "residual"
    description: ClassVar[str] = "a linear model is fitted first; the network is trained on its residual"
    independent: ClassVar[bool] = False

    part: str = "grams"
    """The kind of linear model, by its name."""
    part_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.part not in PRESETS:
            kinds = [kind for kind in MODELS if kind in PRESETS]
            raise TrainingError(
                expected=f"one of {', '.join(kinds)}", got=repr(self.part), where="part",
                remedy=did_you_mean(self.part, kinds),
            )  # fmt: skip
        tuples = {name: tuple(each) if isinstance(each, list) else each for name, each in self.part_options.items()}
        object.__setattr__(self, "part_options", tuples)  # JSON and TOML have lists
        self.empty(2, None)  # building it checks the options

    def fit(self, model: Network, examples: Sequence[Examples], corpus: Corpus, **options: Any) -> Fitted:
        """Fit the linear model, or take what an interrupted run kept of it."""
        empty = self.empty(model.config.classes, model.embedding.source)
        return Fitted(part_of(empty, examples, corpus, independent=self.independent, **options))

    def empty(self, classes: int, vectors: EmbeddingTable | None) -> Bag:
        """The linear model, not yet fitted; one that can learn from vectors learns from those of the network."""
        kind = MODELS[self.part]
        options = with_options(kind.Options(classes=classes), dict(self.part_options), "part_options")
        if vectors is not None and hasattr(options, "from_vectors"):
            options = replace(options, from_vectors=True)
        empty: Bag = kind.untrained(options, lambda: vectors)
        return empty


@dataclass(frozen=True)
class LateFusion(Residual):
    """A linear model is added to the network; the two are trained independently."""

    name: ClassVar[str] = "late_fusion"
    description: ClassVar[str] = "a linear model is fitted first and added to the network (late fusion)"
    independent: ClassVar[bool] = True

    choose_weight: bool = False
    """Whether the network's ensemble weight is chosen on dev, rather than one."""

    @torch.no_grad()
    def weight(self, model: Network, dev: Examples, device: torch.device) -> float | None:
        """The ensemble weight with the least worst-case cross-entropy on dev."""
        if not self.choose_weight:
            return None
        weight = best_weight(*_worst_cases(model, dev, device))
        model.head.weight.mul_(weight)
        model.head.bias.mul_(weight)
        return weight


RECIPES = {kind.name: kind for kind in (Recipe, WarmStart, Residual, LateFusion)}


def best_weight(own: Tensor, offset: Tensor, labels: Tensor) -> float:
    """The w from 0 to `LARGEST_WEIGHT` with the least mean cross-entropy of logits offset + w own, [texts, classes].

    The loss is convex in w, because the logits are affine in it, so w is found by bisection. Weight 0 is the part
    alone: by this loss the sum is never worse. Texts without a finite bound are left out; of none left, w is one.
    """
    finite = (own.isfinite() & offset.isfinite()).all(dim=1)
    own, offset, labels = own[finite].double(), offset[finite].double(), labels[finite]
    if not len(labels):
        return 1.0
    spread = own - own.gather(1, labels.unsqueeze(1))

    def slope(weight: float) -> float:
        return float(((offset + weight * own).softmax(dim=1) * spread).sum())

    low, high = 0.0, LARGEST_WEIGHT
    if slope(low) >= 0:
        return low
    if slope(high) <= 0:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


def _worst_cases(model: Network, dev: Examples, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The worst-case logits of the network and of the part, and the labels, of all texts of dev."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for step, own in dev_margins(model, dev, Processes(device=device), certifies=True):
        assert step.offset is not None, "there is no part to be added"
        found.append((own.worst.cpu(), step.offset.worst.cpu(), step.labels.cpu()))
    if not found:
        return torch.zeros(0, 1), torch.zeros(0, 1), torch.zeros(0, dtype=torch.int64)
    worst, offset, labels = (torch.cat(part) for part in zip(*found, strict=True))
    return worst, offset, labels
