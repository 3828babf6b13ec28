"""What is minimised: an objective turns one batch into named loss parts whose sum is the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.models import Network
from sgbt.models.worst_case import Margins
from sgbt.threats import Substitutions, SubstitutionTable, Vocabulary
from sgbt.threats.codes import community_codes

Parts = dict[str, Tensor]
Reference = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Step:
    """One batch and where training stands: `epoch` counts finished epochs, with the fraction of the running one.

    `weight` is not one only where several processes share a batch unevenly (`steps_of`). `offset` are the margins of a
    fitted model whose logits are added to those of the model in training (`sgbt.training.recipes`).
    """

    ids: Tensor
    mask: Tensor
    labels: Tensor
    substitutions: Substitutions | None
    epoch: float
    weight: float = 1.0
    offset: Margins | None = None

    def joined(self, logits: Tensor, *, epsilon: float = 0.0) -> Tensor:
        """The model's logits, or its worst case at `epsilon`, with the offset added."""
        return logits if self.offset is None else logits + self.offset.at(epsilon)

    @property
    def choices(self) -> Substitutions:
        """The words allowed at every position, for objectives that need them."""
        assert self.substitutions is not None, "an objective that needs substitutions got none"
        return self.substitutions


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of the words before training, from train and the substitution table alone."""

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    table: SubstitutionTable | None
    _clusters: dict[float, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def clusters(self, resolution: float) -> np.ndarray:
        """The synonym cluster of every id (`community_codes`), found once; without a table every id is its own."""
        if self.table is None:
            return np.arange(len(self.vocabulary))
        if resolution not in self._clusters:
            found = community_codes(self.vocabulary, self.table, self.counts, resolution=resolution)
            self._clusters[resolution] = found
        return self._clusters[resolution]


@dataclass(frozen=True)
class Objective:
    """Cross-entropy, and whatever a method adds to it.

    An objective is a value: its fields are its hyper-parameters, and what must be remembered from the start of
    training (`start`) is handed back to it in every step, so that a resumed run goes on exactly.
    """

    name: ClassVar[str] = "standard"
    needs_substitutions: ClassVar[bool] = False
    certifies: ClassVar[bool] = False
    """Whether the best epoch is chosen by certified rather than by clean accuracy on dev."""
    of_weights_alone: ClassVar[frozenset[str]] = frozenset()
    """The loss parts that depend on the model and not on the batch: processes that share a batch agree on them."""

    @property
    def tied_at(self) -> tuple[float, ...]:
        """Resolutions of the clusters whose words share parameters (`sgbt.training.ties`); none: no sharing."""
        return ()

    def for_linear_model(self) -> Objective:
        """The same objective for a linear model, whose worst case is exact; refused where it has no meaning there."""
        raise TrainingError(
            expected="one of standard, ibp, certified for a linear model", got=self.name, where="the objective"
        )

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """The network to train: the given one with its starting weights or an encoder set."""
        return model

    def start(self, model: Network, step: Step | None = None) -> dict[str, float]:
        """Figures fixed before the first step, such as the size of a penalty at initialisation (on the first batch)."""
        return {}

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """The loss by its parts, each with the weight it has in the sum."""
        return {"cross_entropy": F.cross_entropy(step.joined(model(step.ids, step.mask)), step.labels)}

    def ready(self, epoch: int) -> bool:
        """Whether the epoch's weights may be chosen as the best: not before schedules have run their course."""
        return True


def check_range(name: str, value: float, least: float, greatest: float = math.inf) -> None:
    """Refuse an option outside its range, by name."""
    if not least <= value <= greatest or value == math.inf:  # refuses NaN as well
        expected = f"at least {least:g} and finite" if greatest == math.inf else f"from {least:g} to {greatest:g}"
        raise TrainingError(expected=f"{name} {expected}", got=str(value), where="the objective")


@dataclass(frozen=True)
class Standard(Objective):
    """Cross-entropy alone: the baseline that every other method is compared with."""

    def for_linear_model(self) -> Objective:
        """The same."""
        return self
