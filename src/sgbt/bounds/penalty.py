"""The growth-bound penalties of anybody's network: one term to add to any loss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import Activation
from sgbt.bounds.cell import Direction
from sgbt.bounds.cnn import ConvBounds, Pooling
from sgbt.bounds.domains import Domain, ObservedRange, embedding_table_box, hidden_state_box
from sgbt.bounds.interval import Interval
from sgbt.bounds.lstm import LSTMCellBounds
from sgbt.core.errors import BoundError, SgbtWarning
from sgbt.core.shapes import Float

Words = nn.Embedding | Interval | ObservedRange | float
"""Where the vectors of words lie: rows of an embedding, a box, a range seen on data, or |v| <= a number."""


class GrowthPenalty:
    """beta L_GBM + gamma L_SGBT, summed over every nn.LSTM, nn.LSTMCell and nn.Conv1d inside a module (paper, eq. 4).

        penalty = GrowthPenalty(network, inputs=network.embedding)  # once, before training
        loss = loss + penalty()                                     # in every step

    Each sum is divided by its value when the penalty was made, because raw sums drown any other loss: a fresh penalty
    is beta + gamma. To go on with an interrupted training, keep `reference` and pass it back.

    `inputs` says where the vectors of words lie that an LSTM reads, and is needed if there is one; the layers above
    its first read hidden states, which stay within [-1, 1]. Both directions and all layers count. A convolution is
    taken over texts of `length` words with the `activation` and `pooling` that follow it in your network, whatever its
    inputs: over all reals, as in the paper. Other kinds of layers are not bounded, and do not count.

    Nothing is stored of the network but a reference to it: every call reads the weights as they are, wherever they are.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        inputs: Words | None = None,
        beta: float = 0.1,
        gamma: float = 0.3,
        length: int = 512,
        activation: Activation | str = "tanh",
        pooling: Pooling = "max",
        reference: Mapping[str, float] | None = None,
    ) -> None:
        for name, weight in (("beta", beta), ("gamma", gamma)):
            if not 0 <= weight < math.inf:
                raise BoundError(expected=f"{name} of at least 0", got=str(weight), where="GrowthPenalty")
        self.module, self.inputs = module, inputs
        self.beta, self.gamma = beta, gamma
        self.length, self.activation, self.pooling = length, Activation.named(activation), pooling
        if gamma and not self.activation.smooth:
            warnings.warn(
                f"{self.activation.name} has a kink: the curvature bound of a convolution before it is zero, so gamma "
                "trains nothing there; use tanh, or gamma=0",
                SgbtWarning,
                stacklevel=2,
            )
        with torch.no_grad():
            growth, curvature = self.totals()
        self.reference = dict(reference or {"growth": float(growth), "curvature": float(curvature) or 1.0})

    def __call__(self) -> Float[Tensor, ""]:
        """The term to add to a loss, with gradients to the weights it depends on."""
        growth, curvature = self.totals()
        return self.beta * growth / self.reference["growth"] + self.gamma * curvature / self.reference["curvature"]

    def totals(self) -> tuple[Tensor, Tensor]:
        """L_GBM and L_SGBT as they are, unscaled."""
        found = [bounds for _, bounds in self.layers()]
        if not found:
            raise BoundError(
                expected="a module with an nn.LSTM, nn.LSTMCell or nn.Conv1d in it",
                got=type(self.module).__name__,
                where="GrowthPenalty",
            )
        growth = torch.stack([bounds.growth.total() for bounds in found]).sum()
        return growth, torch.stack([bounds.curvature.total() for bounds in found]).sum()

    def layers(self) -> Iterator[tuple[str, LSTMCellBounds | ConvBounds]]:
        """The bounds of every layer that has them, by its name in the module."""
        for name, layer in self.module.named_modules():
            if isinstance(layer, nn.Conv1d):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SgbtWarning)  # warned of once, when the penalty was made
                    yield (
                        name,
                        ConvBounds.of(layer, length=self.length, activation=self.activation, pooling=self.pooling),
                    )
            elif isinstance(layer, nn.LSTMCell):
                yield name, LSTMCellBounds.of(layer, inputs=self._words(name), steps=self.length)
            elif isinstance(layer, nn.LSTM):
                yield from self._of_lstm(name, layer)

    def _of_lstm(self, name: str, lstm: nn.LSTM) -> Iterator[tuple[str, LSTMCellBounds]]:
        directions: tuple[Direction, ...] = ("forward", "backward") if lstm.bidirectional else ("forward",)
        for depth in range(lstm.num_layers):
            box = self._words(name) if depth == 0 else hidden_state_box(lstm.hidden_size * len(directions))
            for direction in directions:
                bounds = LSTMCellBounds.of(lstm, inputs=box, steps=self.length, direction=direction, layer=depth)
                yield f"{name}, layer {depth}, {direction}".removeprefix(", "), bounds

    def _words(self, name: str) -> Domain:
        given = self.inputs
        if isinstance(given, nn.Embedding):
            return embedding_table_box(given.weight)
        if isinstance(given, Interval | ObservedRange):
            return given
        if given is None or not 0 < given < math.inf:
            raise BoundError(
                expected=f"where the vectors lie that the LSTM {name or 'given'} reads",
                got="nothing" if given is None else str(given),
                where="GrowthPenalty",
                remedy="pass inputs=, the nn.Embedding, a box, or a number that no coordinate exceeds",
            )
        return Interval.symmetric(torch.tensor([float(given)]))
