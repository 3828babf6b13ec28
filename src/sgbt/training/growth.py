"""gbm and sgbt: cross-entropy plus the growth-bound penalties of the paper (eq. 4).

Departures from the paper: the penalties are normalised (see `Normaliser`), because raw sums drown the cross-entropy;
bounds hold over a proven domain by default; and, unlike the predecessor's public code, the penalties have gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sgbt.models import Network
from sgbt.training.objective import Objective, Parts, Reference, Step, check_range
from sgbt.training.penalties import PENALTIES, Normaliser


@dataclass(frozen=True)
class GBM(Objective):
    """Bouri et al. 2025: + beta L_GBM, the sum of first-order growth bounds."""

    name: ClassVar[str] = "gbm"
    of_weights_alone: ClassVar[frozenset[str]] = PENALTIES

    beta: float = 0.1
    normalisation: str = "initial"
    domain: str = "proven"
    detached: bool = False
    """Penalties without a gradient, as the predecessor's public code has them: they are logged and train nothing."""

    def __post_init__(self) -> None:
        self.normaliser  # noqa: B018 - building it checks the options
        for option, weight in self.weights.items():
            check_range(option, weight, 0.0)

    @property
    def normaliser(self) -> Normaliser:
        """How the totals are scaled, and where they hold."""
        return Normaliser(self.normalisation, self.domain)

    @property
    def weights(self) -> dict[str, float]:
        """The factors of both penalties."""
        return {"beta": self.beta, "gamma": 0.0}

    def start(self, model: Network, step: Step | None = None) -> dict[str, float]:
        """The totals at initialisation, or what else they are divided by."""
        return self.normaliser.start(model, step, curved=bool(self.weights["gamma"]))

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """Cross-entropy and the penalties."""
        penalties = self.normaliser.parts(model, step, reference, **self.weights)
        if self.detached:  # to compare with what that code trains: the model of cross-entropy alone
            penalties = {name: part.detach() for name, part in penalties.items()}
        return super().parts(model, step, reference) | penalties


@dataclass(frozen=True)
class SGBT(GBM):
    """The paper: + beta L_GBM + gamma L_SGBT, first- and second-order bounds together."""

    name: ClassVar[str] = "sgbt"

    gamma: float = 0.3

    @property
    def weights(self) -> dict[str, float]:
        """The factors of both penalties."""
        return {"beta": self.beta, "gamma": self.gamma}
