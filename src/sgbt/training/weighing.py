"""How much a network counts beside a linear channel that it was trained apart from.

Logits that are trained apart have sizes of their own: a network that is surer than it should be drowns a channel that
knows better. One number sets that right, the weight of the network's logits in the sum. It is chosen by the worst-case
cross-entropy of dev. That is convex in the weight, because the logits of a weighed sum are affine in it; so the best
weight is found by halving. Weight zero is the channel alone, so by that loss the sum is never worse than it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.models import Network, worst_case_logits
from sgbt.training.dev_scores import SCORED_AT_ONCE
from sgbt.training.steps import Examples, steps_of

LARGEST = 4.0
HALVINGS = 40


@torch.no_grad()
def weigh(model: Network, dev: Examples, device: torch.device) -> float:
    """Scale the network's logits by the weight that serves dev best beside what stands there, and tell the weight."""
    own, beside, labels = _worst_cases(model, dev, device)
    weight = best_weight(own, beside, labels)
    model.head.weight.mul_(weight)
    model.head.bias.mul_(weight)
    return weight


def best_weight(own: Tensor, beside: Tensor, labels: Tensor) -> float:
    """The w from 0 to `LARGEST` with the least mean cross-entropy of logits beside + w own, all [texts, classes].

    Texts that no weight can help, whose channel has no finite bound, are left out; of none left, the weight is one.
    """
    finite = (own.isfinite() & beside.isfinite()).all(dim=1)
    own, beside, labels = own[finite].double(), beside[finite].double(), labels[finite]
    if not len(labels):
        return 1.0
    spread = own - own.gather(1, labels.unsqueeze(1))

    def slope(weight: float) -> float:
        return float(((beside + weight * own).softmax(dim=1) * spread).sum())

    low, high = 0.0, LARGEST
    if slope(low) >= 0:
        return low
    if slope(high) <= 0:
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


def _worst_cases(model: Network, dev: Examples, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The worst-case logits of the network and of what stands beside it, and the labels, of all texts of dev."""
    model.eval()
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for step in steps_of(dev, size=SCORED_AT_ONCE, device=device, substitutes=True):
        assert step.beside is not None, "nothing stands beside the network"
        choices = step.choices
        worst = worst_case_logits(model, choices.ids, choices.allowed, step.mask, step.labels)
        found.append((worst.cpu(), step.beside.worst.cpu(), step.labels.cpu()))
    if not found:
        return torch.zeros(0, 1), torch.zeros(0, 1), torch.zeros(0, dtype=torch.int64)
    own, beside, labels = (torch.cat(part) for part in zip(*found, strict=True))
    return own, beside, labels
