"""Model and objective as one module."""

from __future__ import annotations

from torch import nn

from sgbt.models import Bag, Network
from sgbt.training.objective import Objective, Parts, Step


class Loss(nn.Module):
    """Model and objective as one module, so that a data-parallel wrapper sees everything that has a gradient."""

    def __init__(self, model: Network | Bag, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self.reference: dict[str, float] = {}

    def start(self, step: Step) -> dict[str, float]:
        """What the objective fixes before the first step."""
        assert not isinstance(self.model, Bag), "a linear model has a loss of its own"
        return self.objective.start(self.model, step)

    def forward(self, step: Step) -> Parts:
        """The loss parts of one batch, or of a share of it, weighed so that all shares average to the batch's."""
        assert not isinstance(self.model, Bag), "a linear model has a loss of its own"
        parts = self.objective.parts(self.model, step, self.reference)
        if step.weight == 1:
            return parts
        whole = self.objective.of_weights_alone
        return {name: part if name in whole else step.weight * part for name, part in parts.items()}
