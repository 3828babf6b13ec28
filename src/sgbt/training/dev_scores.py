"""What an epoch is judged by: how many dev texts a model labels rightly, and how many intervals prove."""

from __future__ import annotations

import torch

from sgbt.models import Bag, Network, worst_case_logits
from sgbt.training.objective import Objective
from sgbt.training.parallel import Processes
from sgbt.training.steps import Examples, steps_of

SCORED_AT_ONCE = 256


@torch.no_grad()
def dev_scores(model: Network | Bag, objective: Objective, dev: Examples, processes: Processes) -> dict[str, float]:
    """Accuracy on dev and, for objectives that certify, the share that interval propagation proves.

    `score` is what decides. Without dev texts there are no scores.
    """
    model.eval()
    counts = torch.zeros(2, dtype=torch.float64)
    certifies = objective.certifies
    steps = steps_of(dev, size=SCORED_AT_ONCE, device=processes.device, substitutes=certifies)
    for number, step in enumerate(steps):
        if number % processes.size != processes.rank:
            continue
        counts[0] += int((step.joined(model(step.ids, step.mask)).argmax(dim=1) == step.labels).sum())
        if certifies:
            choices = step.choices
            worst = worst_case_logits(model, choices.ids, choices.allowed, step.mask, step.labels)
            others = step.joined(worst, epsilon=1.0).scatter(1, step.labels.unsqueeze(1), -torch.inf)
            counts[1] += int((others.amax(dim=1) < 0).sum())
    if not len(dev):
        return {}
    right, proven = (processes.sum(counts) / len(dev)).tolist()
    if certifies:
        return {"accuracy": right, "certified": proven, "score": proven}
    return {"accuracy": right, "score": right}
