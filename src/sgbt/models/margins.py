"""Margins of texts: what a linear model, a network or a sum of them says of a label against every other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """(logit k - logit of the label) of some texts, [texts, classes]: `clean` of the texts themselves, `worst` an
    upper bound over all substitutions."""

    clean: Tensor
    worst: Tensor

    def at(self, epsilon: float) -> Tensor:
        """Interpolated from the texts themselves (0) to the worst case (1)."""
        return self.clean if not epsilon else (1 - epsilon) * self.clean + epsilon * self.worst

    def take(self, rows: Tensor) -> Margins:
        """Those of some of the texts."""
        return Margins(self.clean[rows], self.worst[rows])

    def to(self, device: torch.device) -> Margins:
        """The same on another device."""
        return Margins(self.clean.to(device), self.worst.to(device))

    def correct(self, labels: Tensor) -> int:
        """How many texts have the greatest clean logit at their label."""
        return int((self.clean.argmax(dim=1) == labels).sum())

    def robust(self, labels: Tensor) -> int:
        """How many texts keep their label in the worst case: every other class stays below it."""
        others = self.worst.scatter(1, labels.unsqueeze(1), -torch.inf)
        return int((others.amax(dim=1) < 0).sum())
