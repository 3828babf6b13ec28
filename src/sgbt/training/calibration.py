"""Calibrated probabilities: all logits of a model times one factor, folded into its weights.

Guo et al. 2017, "On Calibration of Modern Neural Networks": the factor is 1 / T, with the temperature T that gives dev
the least cross-entropy. It scales all logits of a text alike, so it changes no label, and every margin and every bound
on one by the same factor; folded into the weights it is part of the model's identity, and certificates are made of
the weights that predict.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from torch import Tensor, nn

from sgbt.core.errors import ModelError
from sgbt.models import Bag, Sum

SMALLEST, LARGEST = 1e-3, 1e2
HALVINGS = 50


def best_scale(logits: Tensor, labels: Tensor) -> float:
    """The factor of logits [texts, classes] with the least cross-entropy; one where there is no text.

    A text counts for its label with all but one part in (texts + classes), which keeps the factor finite where every
    text is right. The loss is convex in the factor, so it is found by bisection.
    """
    texts, classes = logits.shape
    if not texts:
        return 1.0
    logits, share = logits.double(), 1.0 / (texts + classes)
    wanted = torch.full_like(logits, share / classes)
    wanted.scatter_add_(1, labels.unsqueeze(1), torch.full_like(logits[:, :1], 1 - share))

    def slope(factor: float) -> float:
        return float((((factor * logits).softmax(dim=1) - wanted) * logits).sum())

    low, high = SMALLEST, LARGEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


@singledispatch
def scale(model: Any, factor: float) -> None:
    """Multiply all logits of a model by a factor above 0, in its weights."""
    raise ModelError(expected="a model whose logits can be scaled", got=type(model).__name__, where="calibration")


@scale.register
def _bag(model: Bag, factor: float) -> None:
    _multiply(factor, model.weight, model.bias)


@scale.register
def _sum(model: Sum, factor: float) -> None:
    for part in model.parts:
        scale(part, factor)


@torch.no_grad()
def _multiply(factor: float, *parameters: nn.Parameter) -> None:
    if not 0 < factor < torch.inf:
        raise ModelError(expected="a factor above 0, and finite", got=str(factor), where="calibration")
    for parameter in parameters:
        parameter.mul_(factor)
