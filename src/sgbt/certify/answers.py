"""Answers: what is known of each text of a batch so far, tier by tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.certify.claims import HEAD
from sgbt.certify.question import Question
from sgbt.certify.separable import SeparableBound
from sgbt.certify.tiers import lowest_of


@dataclass(frozen=True, eq=False)
class Answers:
    """The best bound of each margin [texts, rivals], which tier gave the least of them, and what it took."""

    margins: Tensor
    radius: Tensor
    tier: list[str]
    spent: list[dict[str, float]]
    slack: float

    @staticmethod
    def of(question: Question, slack: float, floor: float) -> Answers:
        """Nothing known yet but the margin that every text has at least."""
        return Answers(
            torch.full(question.rivals.shape, floor, dtype=torch.float64, device=question.labels.device),
            torch.full_like(question.labels, -1),
            [HEAD] * len(question),
            [{} for _ in range(len(question))],
            slack,
        )

    def proven(self, rows: Tensor) -> Tensor:
        """Which of the texts are certified."""
        return (self.margins[rows] > self.slack).all(dim=1)

    def learn(self, tier: str, rows: Tensor, bounds: Sequence[SeparableBound], seconds: float) -> None:
        """Take in a tier's bounds of some texts; a text that was certified before keeps its tier."""
        open_ = ~self.proven(rows)
        share = round(1000 * seconds / max(len(rows), 1), 4)  # as rows have it, so that both give the same figures
        best = torch.maximum(self.margins[rows], lowest_of(bounds))
        news = best.amin(dim=1) > self.margins[rows].amin(dim=1)
        slack = torch.full((len(rows),), self.slack, dtype=torch.float64, device=best.device)
        radius = torch.stack([bound.radius(slack) for bound in bounds]).amax(dim=0)
        for row, fresh in zip(rows[open_].tolist(), news[open_].tolist(), strict=True):
            self.spent[row][tier] = share
            if fresh:
                self.tier[row] = tier
        self.margins[rows[open_]] = best[open_]
        self.radius[rows[open_]] = torch.maximum(self.radius[rows[open_]], radius[open_])
