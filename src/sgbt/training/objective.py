"""What is minimised: an objective turns one batch into named loss parts whose sum is the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.errors import TrainingError
from sgbt.lexicon import Substitutions, SubstitutionTable, Vocabulary
from sgbt.models import Network

Parts = dict[str, Tensor]
Reference = Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """(logit k - logit of the label) of some texts, [texts, classes]: as they are, and at most when replaced."""

    clean: Tensor
    worst: Tensor

    def at(self, epsilon: float) -> Tensor:
        """From the texts themselves (0) to the worst case (1)."""
        return self.clean if not epsilon else (1 - epsilon) * self.clean + epsilon * self.worst

    def take(self, rows: Tensor) -> Leads:
        """Those of some of the texts."""
        return Leads(self.clean[rows], self.worst[rows])

    def to(self, device: torch.device) -> Leads:
        """The same on another device."""
        return Leads(self.clean.to(device), self.worst.to(device))


@dataclass(frozen=True, slots=True)
class Step:
    """One batch and where training stands: `epoch` counts finished epochs, with the fraction of the running one.

    `weight` is not one only where several processes share a batch unevenly (`steps_of`). `beside` is what another
    channel, which is not trained, says of these texts; its logits and the model's add up.
    """

    ids: Tensor
    mask: Tensor
    labels: Tensor
    substitutions: Substitutions | None
    epoch: float
    weight: float = 1.0
    beside: Leads | None = None

    def joined(self, logits: Tensor, *, epsilon: float = 0.0) -> Tensor:
        """The model's logits, or its worst case at `epsilon`, with what stands beside it added."""
        return logits if self.beside is None else logits + self.beside.at(epsilon)

    @property
    def choices(self) -> Substitutions:
        """The words allowed at every position, for objectives that need them."""
        assert self.substitutions is not None, "an objective that needs substitutions got none"
        return self.substitutions


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of the words before training: never more than train and the substitution table tell."""

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    table: SubstitutionTable | None


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

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """The model to train: the given one, or one with an encoder or a second channel added."""
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
        wanted = f"at least {least:g} and finite" if greatest == math.inf else f"from {least:g} to {greatest:g}"
        raise TrainingError(wanted=f"{name} {wanted}", got=str(value), where="the objective")


@dataclass(frozen=True)
class Standard(Objective):
    """Cross-entropy alone: the baseline that every other method is compared with."""
