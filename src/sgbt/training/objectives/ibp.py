"""ibp (Jia et al. 2019, "Certified Robustness to Adversarial Word Substitutions").

The loss mixes the cross-entropy of the clean logits with that of the worst-case logits from interval propagation:
(1 - k) clean + k worst, over boxes scaled by epsilon; k and epsilon grow from zero to their full values.

Departures: boxes are taken per substitute after the first affine map rather than around the vectors, and margins rather
than single logits are bounded; both are tighter. No language model restricts the substitutes. An LSTM starts with
small recurrent weights (`calmed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from sgbt.core.errors import TrainingError
from sgbt.models import BiLSTM, Network, clean_and_worst_logits
from sgbt.training.loop.steps import Corpus, Step
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range


@dataclass(frozen=True)
class IBP(Objective):
    """Cross-entropy on the worst case that intervals can prove."""

    name: ClassVar[str] = "ibp"
    needs_substitutions: ClassVar[bool] = True
    certifies: ClassVar[bool] = True

    kappa: float = 0.8
    epsilon: float = 1.0
    ramp_epochs: float = 3.0
    warm_up_epochs: float = 0.0

    def __post_init__(self) -> None:
        check_range("kappa", self.kappa, 0, 1)
        check_range("epsilon", self.epsilon, 0, 1)
        check_range("ramp_epochs", self.ramp_epochs, 0)
        check_range("warm_up_epochs", self.warm_up_epochs, 0)

    @property
    def worst_case_share(self) -> float:
        """The share of a linear model's loss that is on the worst case."""
        return self.kappa

    def for_linear_model(self) -> Objective:
        """The same share of the loss on the worst case, without a schedule: no bound has to become tight first."""
        if self.epsilon != 1:
            raise TrainingError(
                expected="epsilon of 1 for a linear model", got=str(self.epsilon), where="the objective"
            )
        return IBP(kappa=self.kappa, ramp_epochs=0.0)

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """Let an LSTM start with recurrent weights that do not widen boxes (`calmed`)."""
        calmed(model)
        return model

    def ramp(self, epoch: float) -> float:
        """How far the schedules have come: zero while warming up, then in a straight line to one."""
        begun = epoch - self.warm_up_epochs
        return min(max(begun / self.ramp_epochs if self.ramp_epochs else float(begun >= 0), 0.0), 1.0)

    def ready(self, epoch: int) -> bool:
        """Only weights trained at full strength are candidates for the best."""
        return self.ramp(epoch) >= 1.0

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """Clean and worst-case cross-entropy, weighted by the schedule."""
        ramp, choices = self.ramp(step.epoch), step.choices
        kappa, epsilon = self.kappa * ramp, self.epsilon * ramp
        if not kappa:
            return super().parts(model, step, reference)
        clean, worst = clean_and_worst_logits(
            model, choices.ids, choices.allowed, step.mask, step.labels, epsilon=epsilon
        )
        return {
            "cross_entropy": (1 - kappa) * F.cross_entropy(step.joined(clean), step.labels),
            "worst_case": kappa * F.cross_entropy(step.joined(worst, epsilon=epsilon), step.labels),
        }


@singledispatch
def calmed(model: Any) -> None:
    """Make the start of a network such that boxes do not widen from layer to layer; most need nothing."""


@calmed.register
@torch.no_grad()
def _recurrent(model: BiLSTM) -> None:
    """Shrink recurrent weights until the magnitudes of every row add up to one at most.

    From one step to the next, a gate's box is wider than the hidden state's by at most that sum. Weights as they are
    usually drawn have sums of four at 64 units: boxes then widen, and their gradient grows, at every word. Over a text
    of 256 words it reaches 1e15, and training moves at random.
    """
    for lstm in (model.forwards, model.backwards):
        recurrent = lstm.get_parameter("weight_hh_l0")
        recurrent.div_(recurrent.abs().sum(dim=1).amax().clamp(min=1.0))
