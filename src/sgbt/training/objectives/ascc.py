"""ascc (Dong et al. 2021, "Towards Robustness Against Natural Language Word Substitutions").

The adversary moves every word within the convex hull of its substitutes: a mixture with weights softmax(u), u found by
gradient ascent on the divergence from the clean prediction, with an entropy term that makes mixtures sparse, so that
they stay near real words. Training adds that divergence to the cross-entropy.

Departures: the inner ascent is ten Adam steps; a word without substitutes has no mixture to move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import Network
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range


@dataclass(frozen=True)
class ASCC(Objective):
    """Cross-entropy plus divergence under an adversary in the convex hull of the substitutes."""

    name: ClassVar[str] = "ascc"
    needs_substitutions: ClassVar[bool] = True

    divergence: float = 4.0
    sparsity: float = 15.0
    inner_steps: int = 10
    inner_rate: float = 10.0

    def __post_init__(self) -> None:
        check_range("divergence", self.divergence, 0)
        check_range("sparsity", self.sparsity, 0)
        check_range("inner_steps", self.inner_steps, 1)
        check_range("inner_rate", self.inner_rate, 0)

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """Cross-entropy, and the divergence at the adversary's mixture."""
        clean = model(step.ids, step.mask)
        vectors = step.vectors(model)
        mixture = self.adversary(model, step, vectors, clean)
        moved = _mixed_logits(model, step, vectors, mixture)
        return {
            "cross_entropy": F.cross_entropy(clean, step.labels),
            "divergence": self.divergence * _divergence(clean, moved),
        }

    def adversary(self, model: Network, step: Step, vectors: Tensor, clean: Tensor) -> Tensor:
        """Mixture weights [texts, words, choices] found by ascent.

        Target, vectors and weights are detached: the ascent looks for a point, and only the loss taken at that point
        trains the model.
        """
        allowed, words = step.choices.allowed, step.mask.sum().clamp(min=1)
        target, fixed = clean.detach(), vectors.detach()
        free = torch.zeros(allowed.shape, device=fixed.device, dtype=fixed.dtype).normal_(std=0.1).requires_grad_()
        ascent = torch.optim.Adam([free], lr=self.inner_rate, maximize=True)
        for _ in range(self.inner_steps):
            mixture = _mixture(free, allowed)
            entropy = -(mixture * mixture.clamp(min=1e-12).log()).sum(dim=-1)[step.mask].sum() / words
            goal = _divergence(target, _mixed_logits(model, step, fixed, mixture)) - self.sparsity * entropy
            (free.grad,) = torch.autograd.grad(goal, [free])
            ascent.step()
        return _mixture(free.detach(), allowed)


def _mixture(free: Tensor, allowed: Tensor) -> Tensor:
    return free.masked_fill(~allowed, -torch.inf).softmax(dim=-1)


def _divergence(clean: Tensor, moved: Tensor) -> Tensor:
    """KL(clean || moved), the mean over texts."""
    return F.kl_div(moved.log_softmax(dim=1), clean.log_softmax(dim=1), reduction="batchmean", log_target=True)


def _mixed_logits(model: Network, step: Step, vectors: Tensor, mixture: Tensor) -> Tensor:
    """Logits when every word is the mixture of its choices with weights [texts, words, choices]."""
    return model.from_vectors(torch.einsum("twc,twcd->twd", mixture, vectors), step.mask)
