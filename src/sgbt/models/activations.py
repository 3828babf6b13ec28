"""The activations a TextCNN may use, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sgbt.bounds.activations import softplus


@dataclass(frozen=True, slots=True)
class Nonlinearity:
    """A function that never falls, except perhaps below its single lowest point."""

    function: Callable[[Tensor], Tensor]
    lowest: float | None = None

    @property
    def monotone(self) -> bool:
        """Whether the largest value always comes from the largest argument."""
        return self.lowest is None

    def range(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """The exact range over boxes: ends, and the lowest point where it is inside."""
        ends = self.function(lower), self.function(upper)
        if self.lowest is None:
            return ends
        deepest = self.function(torch.maximum(torch.minimum(lower.new_tensor(self.lowest), upper), lower))
        return torch.minimum(torch.minimum(*ends), deepest), torch.maximum(*ends)


ACTIVATIONS = {
    "tanh": Nonlinearity(torch.tanh),
    "sigmoid": Nonlinearity(torch.sigmoid),
    "softplus": Nonlinearity(softplus),
    "relu": Nonlinearity(torch.relu),
    "gelu": Nonlinearity(nn.functional.gelu, lowest=-0.7517915246935645),
}
