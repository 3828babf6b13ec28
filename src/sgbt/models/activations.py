"""The activations a TextCNN may use, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Activation:
    """A function, and whether it never falls: then the largest value comes from the largest argument."""

    function: Callable[[Tensor], Tensor]
    monotone: bool


ACTIVATIONS = {
    "tanh": Activation(torch.tanh, monotone=True),
    "sigmoid": Activation(torch.sigmoid, monotone=True),
    "softplus": Activation(nn.functional.softplus, monotone=True),
    "relu": Activation(torch.relu, monotone=True),
    "gelu": Activation(nn.functional.gelu, monotone=False),
}
