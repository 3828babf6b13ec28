"""gbm and sgbt: cross-entropy plus the growth-bound penalties L_GBM and L_SGBT of the paper (eq. 4).

The totals are sums over a model's layers: for a BiLSTM of the bounds of one cell in each direction (all steps share the
parameters), for a TextCNN of those of every convolution. They are closed forms of the weights, with gradients, so they
cost about one matrix-vector product.

Departures from the paper: the penalties are normalised (`Normaliser`), because raw sums drown the cross-entropy; bounds
hold over a proven domain by default; and, unlike the predecessor's public code, the penalties have gradients.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sgbt.bounds import ConvBounds, LSTMCellBounds, ObservedRange
from sgbt.bounds.activations import Activation
from sgbt.bounds.cnn import Pooling
from sgbt.core.errors import SgbtWarning, TrainingError
from sgbt.models import BiLSTM, Network, TextCNN
from sgbt.models.bilstm import reversed_within
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range

NORMALISATIONS = ("initial", "entries", "raw")
DOMAINS = ("proven", "observed")
PENALTIES = frozenset({"growth", "curvature"})
TEXT_LENGTH = 512
"""Words of the text that totals are about: over which a convolution's are summed, and after which a cell state is
bounded (|c| <= number of words read). The fixed point that bounds c for ever is of no use over the box of a real
embedding table: there the forget gate rounds to one, and the bound, 1e17, would have no gradient but to that gate."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of all entries of the growth and curvature bounds, and how many entries each has."""

    growth: Tensor
    curvature: Tensor
    growth_entries: float
    curvature_entries: float


def totals(model: Network, step: Step | None = None, *, domain: str = "proven") -> Totals:
    """Both totals over all layers of a model.

    `proven`: words anywhere in the box of the embedding table, |h| <= 1 and what the cell state can reach in
    `TEXT_LENGTH` words; for a convolution, all reals, as in the paper, so that its bias has no gradient. `observed`:
    the ranges that the batch of `step` happens to show, as in the paper's predecessor; they may regularise and can
    never certify.
    """
    sums = [_layer_totals(bounds) for bounds in layer_bounds(model, step, domain)]
    return Totals(
        growth=torch.stack([part.growth for part in sums]).sum(),
        curvature=torch.stack([part.curvature for part in sums]).sum(),
        growth_entries=sum(part.growth_entries for part in sums),
        curvature_entries=sum(part.curvature_entries for part in sums),
    )


@dataclass(frozen=True, slots=True)
class Normaliser:
    """How raw totals, which start around 5e3 and 3e5, are brought to the scale of a cross-entropy.

    `initial` divides each by its value at initialisation, so both start at one; `entries` by the number of entries of
    the bound, so they are mean entries; `raw` leaves them as the paper writes them, and they drown everything else.
    """

    normalisation: str
    domain: str

    def __post_init__(self) -> None:
        for what, value, allowed in (
            ("normalisation", self.normalisation, NORMALISATIONS),
            ("domain", self.domain, DOMAINS),
        ):
            if value not in allowed:
                raise TrainingError(
                    expected=f"one of {', '.join(allowed)}", got=repr(value), where=f"the option {what}"
                )

    def start(self, model: Network, step: Step | None, *, curved: bool = True) -> dict[str, float]:
        """What both totals will be divided by; `curved` says that the curvature counts."""
        if curved:
            _warn_of_kinks(model)
        if self.normalisation == "raw":
            return {"growth": 1.0, "curvature": 1.0}
        with torch.no_grad():
            found = totals(model, step, domain=self.domain)
        if self.normalisation == "entries":
            return {"growth": found.growth_entries, "curvature": found.curvature_entries}
        return {"growth": float(found.growth), "curvature": float(found.curvature) or 1.0}

    def parts(
        self, model: Network, step: Step, reference: Reference, *, beta: float, gamma: float
    ) -> dict[str, Tensor]:
        """beta L_GBM and gamma L_SGBT, normalised; a part with weight zero is left out."""
        found = totals(model, step, domain=self.domain)
        parts = {}
        if beta:
            parts["growth"] = beta * found.growth / reference["growth"]
        if gamma:
            parts["curvature"] = gamma * found.curvature / reference["curvature"]
        return parts


@singledispatch
def layer_bounds(model: Any, step: Step | None, domain: str) -> list[ConvBounds | LSTMCellBounds]:
    """The growth and curvature bounds of every layer of a model; a new kind of network registers its own here."""
    raise TrainingError(
        expected="a network with growth bounds",
        got=type(model).__name__,
        remedy="choose another objective, such as ibp",
    )


@layer_bounds.register
def _of_cnn(model: TextCNN, step: Step | None, domain: str) -> list[ConvBounds | LSTMCellBounds]:
    pooling: Pooling = "average" if model.config.pooling == "mean" else "max"
    seen = ObservedRange.of(_observed_words(model, step)[0]) if domain == "observed" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SgbtWarning)  # `Normaliser.start` said so once
        return [
            ConvBounds.of(layer, length=TEXT_LENGTH, activation=model.config.activation, pooling=pooling, inputs=seen)
            for layer in model.convolutions
            if isinstance(layer, nn.Conv1d)
        ]


@layer_bounds.register
def _of_bilstm(model: BiLSTM, step: Step | None, domain: str) -> list[ConvBounds | LSTMCellBounds]:
    if domain == "observed":
        return _observed_cells(model, step)
    box = model.embedding.box()
    return [LSTMCellBounds.of(lstm, inputs=box, steps=TEXT_LENGTH) for lstm in (model.forwards, model.backwards)]


@singledispatch
def activation_of(model: Any) -> str:
    """The activation of a network; an LSTM has no other than tanh."""
    return "tanh"


@activation_of.register
def _of_convolutions(model: TextCNN) -> str:
    return model.config.activation


def _warn_of_kinks(model: Network) -> None:
    activation = activation_of(model)
    if not Activation.named(activation).smooth:
        warnings.warn(
            f"{activation} has a kink: its curvature bound is zero, so the penalty gamma L_SGBT trains "
            "nothing; use tanh, or the objective gbm",
            SgbtWarning,
            stacklevel=2,
        )


def _layer_totals(bounds: ConvBounds | LSTMCellBounds) -> Totals:
    return Totals(
        growth=bounds.growth.total(),
        curvature=bounds.curvature.total(),
        growth_entries=float(math.prod(bounds.growth.shape)),
        curvature_entries=float(math.prod(bounds.curvature.shape)),
    )


@torch.no_grad()  # ranges are data: they say where the penalty is taken, and are not themselves trained
def _observed_words(model: Network, step: Step | None) -> tuple[Tensor, Tensor]:
    """The vectors of the real words of a batch, and of the batch as a whole."""
    if step is None:
        raise TrainingError(expected="a batch to observe ranges on", got="none", where="the domain 'observed'")
    vectors = model.embedding(model.embedding.encode(step.ids))
    return vectors[step.mask], vectors


def _observed_cells(model: BiLSTM, step: Step | None) -> list[ConvBounds | LSTMCellBounds]:
    words, vectors = _observed_words(model, step)
    assert step is not None
    lengths = step.mask.sum(dim=1).clamp(min=1)
    bounds: list[ConvBounds | LSTMCellBounds] = []
    for lstm, read in ((model.forwards, vectors), (model.backwards, reversed_within(vectors, lengths))):
        hidden, cell = _observed_states(lstm, read, lengths)
        bounds.append(LSTMCellBounds.of(lstm, inputs=ObservedRange.of(words), hidden=hidden, cell_state=cell))
    return bounds


@torch.no_grad()
def _observed_states(lstm: nn.LSTM, vectors: Tensor, lengths: Tensor) -> tuple[ObservedRange, ObservedRange]:
    """The ranges of (h, c) before each real word, read step by step because an LSTM layer does not show its cells."""
    weights = [lstm.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
    hidden = cell = vectors.new_zeros(len(vectors), lstm.hidden_size)
    before: list[tuple[Tensor, Tensor]] = []
    for place in range(vectors.shape[1]):
        real = place < lengths
        before.append((hidden[real], cell[real]))
        hidden, cell = torch.lstm_cell(vectors[:, place], (hidden, cell), *weights)
    return ObservedRange.of(torch.cat([h for h, _ in before])), ObservedRange.of(torch.cat([c for _, c in before]))


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
