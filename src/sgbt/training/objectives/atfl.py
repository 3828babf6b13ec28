"""atfl (Wang et al. 2021, "Adversarial Training with Fast Gradient Projection Method against Synonym Substitution").

Each step attacks its own batch: the gradient of the loss at every word is projected onto the way to each substitute,
(v_s - v_w) . g, and the words with the greatest gain are replaced. Training takes the cross-entropy of clean and
attacked texts and pairs their logits.

Departures: the paper replaces one word per gradient; here each of a few rounds replaces the best words of every text at
once, a share `replaced` in all, which costs a fixed number of passes whatever the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import Network
from sgbt.models.word_gradients import along_gradients, word_gradients
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range


@dataclass(frozen=True)
class ATFL(Objective):
    """Adversarial training by fast gradient projection, with logit pairing."""

    name: ClassVar[str] = "atfl"
    needs_substitutions: ClassVar[bool] = True

    adversarial: float = 0.5
    pairing: float = 0.5
    replaced: float = 0.25
    rounds: int = 2

    def __post_init__(self) -> None:
        check_range("adversarial", self.adversarial, 0, 1)
        check_range("pairing", self.pairing, 0)
        check_range("replaced", self.replaced, 0, 1)
        check_range("rounds", self.rounds, 1)

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """Cross-entropy of clean and attacked texts, and the distance between their logits."""
        clean = model(step.ids, step.mask)
        moved = model(self.attacked(model, step), step.mask)
        return {
            "cross_entropy": (1 - self.adversarial) * F.cross_entropy(clean, step.labels),
            "adversarial": self.adversarial * F.cross_entropy(moved, step.labels),
            "pairing": self.pairing * (clean - moved).square().sum(dim=1).mean(),
        }

    def attacked(self, model: Network, step: Step) -> Tensor:
        """The ids of the batch after replacing the words that the gradient likes best.

        A text of n words has at most the ceiling of n x `replaced` of them replaced; after round r of R, r/R of those.
        A word that was replaced may be replaced again. The attack looks for texts, so nothing it computes is trained:
        vectors are detached.
        """
        choices = step.choices
        distinct, places = model.embedding.encode(choices.ids).unique(return_inverse=True)
        vectors = model.embedding(distinct).detach()
        chosen = torch.zeros_like(step.ids)  # slot 0 is the word itself
        budget = (step.mask.sum(dim=1) * self.replaced).ceil()
        for number in range(1, self.rounds + 1):
            slopes = word_gradients(model, _pick(choices.ids, chosen), step.mask, partial(_loss, labels=step.labels))
            values = along_gradients(slopes, vectors, places, choices.allowed)
            gain = values - values.gather(2, chosen.unsqueeze(-1))
            best, slot = gain.masked_fill(~choices.allowed, -torch.inf).max(dim=-1)
            best = best.masked_fill(~step.mask, -torch.inf)
            changed = chosen > 0
            left = (budget * number / self.rounds).ceil() - changed.sum(dim=1)
            rank = best.masked_fill(changed, -torch.inf).argsort(dim=1, descending=True).argsort(dim=1)
            chosen = torch.where((changed | (rank < left.unsqueeze(1))) & (best > 0), slot, chosen)
        return _pick(choices.ids, chosen)


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits, labels, reduction="sum")


def _pick(ids: Tensor, chosen: Tensor) -> Tensor:
    return ids.gather(2, chosen.unsqueeze(-1)).squeeze(-1)
