"""What an epoch is judged by: how many dev texts a model labels rightly, and how many its bounds prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from sgbt.models import Network, worst_case_logits
from sgbt.models.worst_case import Margins
from sgbt.training.loop.parallel import Processes
from sgbt.training.loop.steps import Examples, Step, steps_of

SCORED_AT_ONCE = 256


@torch.no_grad()
def dev_scores(
    found: Iterable[tuple[Margins, Tensor]], *, certifies: bool, processes: Processes | None = None
) -> dict[str, float]:
    """Accuracy and, where `certifies`, the share of texts that the worst case proves, from margins and their labels.

    `score` is what decides between epochs. Each process gives the batches it has done. Without texts there are no
    scores.
    """
    counts = torch.zeros(3, dtype=torch.float64)
    for margins, labels in found:
        proven = margins.robust(labels) if certifies else 0
        counts += torch.tensor([margins.correct(labels), proven, len(labels)], dtype=torch.float64)
    correct, proven, texts = (processes or Processes()).sum(counts).tolist()
    if not texts:
        return {}
    if certifies:
        return {"accuracy": correct / texts, "certified": proven / texts, "score": proven / texts}
    return {"accuracy": correct / texts, "score": correct / texts}


@torch.no_grad()
def dev_margins(
    model: Network, dev: Examples, processes: Processes, *, certifies: bool
) -> Iterator[tuple[Step, Margins]]:
    """The logits of this process's batches, with the worst case by interval propagation where `certifies`."""
    model.eval()
    steps = steps_of(dev, size=SCORED_AT_ONCE, device=processes.device, substitutes=certifies)
    for number, step in enumerate(steps):
        if number % processes.size != processes.rank:
            continue
        clean = worst = model(step.ids, step.mask)
        if certifies:
            choices = step.choices
            worst = worst_case_logits(model, choices.ids, choices.allowed, step.mask, step.labels)
        yield step, Margins(clean, worst)
