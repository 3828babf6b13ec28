"""What is minimised: an objective turns one batch into named loss parts whose sum is the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.core.errors import TrainingError
from sgbt.models import Network
from sgbt.threats import Threat
from sgbt.training.loop.steps import Corpus, Step

Parts = dict[str, Tensor]
Reference = Mapping[str, float]


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
    def worst_case_share(self) -> float:
        """The share of a linear model's loss that is on the worst case."""
        return 1.0 if self.certifies else 0.0

    @property
    def edits(self) -> Threat | None:
        """What else than substitution is part of an n-gram model's worst case (`sgbt.training.linear.edits`)."""
        return None

    def for_linear_model(self) -> Objective:
        """The same objective for a linear model, whose worst case is exact; refused where it has no meaning there."""
        raise TrainingError(
            expected="one of standard, ibp, certified for a linear model", got=self.name, where="the objective"
        )

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """The network to train: the given one with an encoder set, or with weights that suit the objective."""
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


@dataclass(frozen=True)
class Standard(Objective):
    """Cross-entropy alone: the baseline that every other method is compared with."""

    def for_linear_model(self) -> Objective:
        """The same."""
        return self


class Loss(nn.Module):
    """Model and objective as one module, so that a data-parallel wrapper sees everything that has a gradient."""

    def __init__(self, model: Any, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self.reference: dict[str, float] = {}

    def start(self, step: Any) -> dict[str, float]:
        """What the objective fixes before the first step."""
        return self.objective.start(self.model, step)

    def forward(self, step: Any) -> Parts:
        """The loss parts of one batch, or of a share of it, weighted so that all shares average to the batch's."""
        parts = self.objective.parts(self.model, step, self.reference)
        if step.weight == 1:
            return parts
        whole = self.objective.of_weights_alone
        return {name: part if name in whole else step.weight * part for name, part in parts.items()}


def mixed_cross_entropy(
    clean: Tensor, worst: Tensor, labels: Tensor, *, share: float, class_weights: Tensor | None = None
) -> Parts:
    """Cross-entropy of the texts and of their worst case, which has the `share`; a part without weight is left out.

    A text counts as much as its class weighs.
    """
    shares = {"cross_entropy": (1 - share, clean), "worst_case": (share, worst)}
    return {
        name: own * F.cross_entropy(logits, labels, weight=class_weights)
        for name, (own, logits) in shares.items()
        if own
    }


def check_range(name: str, value: float, least: float, greatest: float = math.inf) -> None:
    """Refuse an option outside its range, by name."""
    if not least <= value <= greatest or value == math.inf:  # refuses NaN as well
        expected = f"at least {least:g} and finite" if greatest == math.inf else f"from {least:g} to {greatest:g}"
        raise TrainingError(expected=f"{name} {expected}", got=str(value), where="the objective")
