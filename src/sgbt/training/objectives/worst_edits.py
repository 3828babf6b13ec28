"""worst-edits: the loss on texts in which the few most telling words are misspelt, left out or otherwise edited.

An n-gram model is trained on its worst case over all substitutions, if there is a table, with the worst edits added as
if they did not meet (`sgbt.training.linear.edits`). A network is trained on examples: a gradient says what each word's
becoming unknown would cost in first order, the costliest become unknown, as many as there may be edits, and the loss
there is mixed with the clean one. That is no bound, and proofs of such networks are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import Network
from sgbt.threats import UNKNOWN, Threat, parse_threat
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range


@dataclass(frozen=True)
class WorstEdits(Objective):
    """Cross-entropy with the worst of a few edits, which has the share `kappa` of the loss.

    `threat` is as the command line writes it, without substitutions: those are the table's.
    """

    name: ClassVar[str] = "worst-edits"

    threat: str = "typos:1"
    kappa: float = 0.8

    def __post_init__(self) -> None:
        check_range("kappa", self.kappa, 0, 1)
        self.edits  # noqa: B018 - what cannot be read is refused at once

    @property
    def worst_case_share(self) -> float:
        """The share of the loss that is on the worst case."""
        return self.kappa

    @cached_property
    def edits(self) -> Threat:
        """The threat as a value."""
        return parse_threat(self.threat, lambda name: None)

    @property
    def words(self) -> int:
        """How many words are lost in a text of a network's training."""
        most = sum(edit.at_most or 0 for edit in self.edits.edits)
        return most if self.edits.total is None else min(most, self.edits.total)

    def for_linear_model(self) -> Objective:
        """The same."""
        return self

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """Cross-entropy of the texts, and of those that are edited."""
        clean = F.cross_entropy(step.joined(model(step.ids, step.mask)), step.labels)
        worst = F.cross_entropy(step.joined(model(self.lost(model, step), step.mask)), step.labels)
        return {"cross_entropy": (1 - self.kappa) * clean, "edited": self.kappa * worst}

    def lost(self, model: Network, step: Step) -> Tensor:
        """The ids, with those words unknown that cost most in first order.

        The vectors are detached: the gradient only chooses words, and the loss on the text so made trains the model.
        """
        read = model.embedding.encode(step.ids)
        vectors = model.embedding(read).detach().requires_grad_()
        loss = F.cross_entropy(step.joined(model.from_vectors(vectors, step.mask)), step.labels, reduction="sum")
        (slope,) = torch.autograd.grad(loss, [vectors])
        unknown = model.embedding(model.embedding.encode(torch.full_like(step.ids[:1, :1], UNKNOWN))).detach()
        gain = ((unknown - vectors.detach()) * slope).sum(dim=2).masked_fill(~step.mask, -torch.inf)
        chosen = gain.topk(min(self.words, gain.shape[1]), dim=1)
        places = torch.zeros_like(step.mask).scatter(1, chosen.indices, chosen.values > 0)
        return step.ids.masked_fill(places, UNKNOWN)
