"""What rounding may do to the margins of a TextCNN: bounded by the magnitudes of its weights, whatever text is read."""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.certify.rounding import (
    DOUBLE,
    FLOAT64_SHARE,
    SINGLE,
    TIMES_IN_BOUNDS,
    float32_allowance,
    float64_allowance,
    gamma,
    largest_logit,
    logit_of_head,
    margin_of_head,
)
from sgbt.certify.verifier import lowest_margin
from sgbt.core.errors import CertificateError
from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS
from sgbt.threats.vocabulary import PADDING

ACTIVATION_UNITS = 8
"""How many units an activation may be off, of its own value: torch's vectorised ones stay within 4."""
STEEPEST = 1.2
"""No activation rises faster: gelu' stays below 1.13, the others' derivatives below or at 1."""
LARGEST_SINGLE = 2.0**120
"""No number on the way of a model that decides in float32 may be larger: some way below where float32 overflows."""


@float64_allowance.register
@torch.no_grad()
def _in_float64(model: TextCNN, *, longest: int) -> float:
    share = FLOAT64_SHARE * (1 + margin_of_head(model.head, _feature_magnitudes(model)))
    return share + TIMES_IN_BOUNDS * proven_gap(model, longest=longest, unit=DOUBLE)


@float32_allowance.register
@torch.no_grad()
def _in_float32(model: TextCNN, *, longest: int) -> float:
    _refuse_overflow(model, longest=longest)
    return proven_gap(model, longest=longest)


@largest_logit.register
def _logit(model: TextCNN, *, longest: int) -> float:
    return logit_of_head(model.head, _feature_magnitudes(model))


@lowest_margin.register
def _lowest(model: TextCNN, *, longest: int) -> float:
    return -margin_of_head(model.head, _feature_magnitudes(model))


@torch.no_grad()
def proven_gap(model: TextCNN, *, longest: int, unit: float = SINGLE) -> float:
    """A bound on the difference of any margin of a TextCNN between its precision and real arithmetic, for any text.

    The magnitudes of a window are at most sum_l |W_l| |v| by Cauchy's inequality, and at most what they are for the
    largest number that any word has in each coordinate; the smaller of the two counts. Through a projection, word
    vectors are off by a sum of their own. Errors pass the activation with its steepest slope and the head with the
    difference of the two rows; pooling by the mean and the head add sums of their own.
    """
    ids = torch.arange(model.embedding.weight.shape[0], device=model.embedding.weight.device)
    moved = _projection_error(model, unit)
    norm = float(model.embedding(ids).norm(dim=1).amax() + moved.norm())
    features, magnitudes = _feature_magnitudes(model), _window_magnitudes(model)
    errors = []
    for layer, largest in zip(model.convolutions, magnitudes, strict=True):
        filters = layer.get_parameter("weight")  # [filters, width, size]
        by_norms = layer.get_parameter("bias").abs() + norm * filters.norm(dim=1).sum(dim=1)
        by_words = torch.einsum("fdk,d->f", filters.abs(), moved)
        reach = torch.minimum(by_norms, largest + by_words)
        errors.append(STEEPEST * (gamma(filters[0].numel() + filters.shape[2] + 1, unit) * reach + by_words))
    off = torch.cat(errors) + ACTIVATION_UNITS * unit * features
    if model.config.pooling == "mean":
        off = off + gamma(longest + 1, unit) * (features + off)
    weight, bias = model.head.weight, model.head.bias
    summed = gamma(weight.shape[1] + 2, unit) * (weight.abs() @ (features + off) + bias.abs())
    passed = ((weight.unsqueeze(0) - weight.unsqueeze(1)).abs() * off).sum(dim=-1)
    return float((passed + summed.unsqueeze(0) + summed.unsqueeze(1)).amax())


def _refuse_overflow(model: TextCNN, *, longest: int) -> None:
    """Refuse a network that could overflow in float32, where infinity minus infinity would decide a label."""
    layer = model.embedding.projection
    words = model.embedding.weight[PADDING + 1 :].abs().amax(dim=0)
    projected = [layer.weight.abs() @ words + layer.bias.abs()] if layer is not None else []
    pooled = longest * _feature_magnitudes(model)
    head = model.head.weight.abs() @ pooled + model.head.bias.abs()
    reached = max(float(part.amax()) for part in (words, *projected, *_window_magnitudes(model), pooled, head))
    if not reached < LARGEST_SINGLE:
        raise CertificateError(
            expected=f"a TextCNN in float32 whose sums stay below {LARGEST_SINGLE:.3g}",
            got=f"one whose sums may reach {reached:.3g}",
            where="the model",
            remedy="train again, or convert it to float64",
        )


def _projection_error(model: TextCNN, unit: float) -> Tensor:
    """How far each coordinate of a word vector may be off because of a projection of the embedding."""
    words, layer = model.embedding.weight, model.embedding.projection
    if layer is None:
        return words.new_zeros(model.embedding.width)
    magnitude = layer.weight.abs() @ words[PADDING + 1 :].abs().amax(dim=0) + layer.bias.abs()
    return gamma(layer.in_features + 1, unit) * magnitude


def _feature_magnitudes(model: TextCNN) -> Tensor:
    """An upper bound of every pooled feature's magnitude, whatever text is read."""
    z = torch.cat(_window_magnitudes(model))
    low, high = ACTIVATIONS[model.config.activation].range(-z, z)
    return torch.maximum(low.abs(), high.abs())


def _window_magnitudes(model: TextCNN) -> list[Tensor]:
    """For each width, an upper bound of |b| + sum |W| |v| over a window of every filter, whatever text is read."""
    words = model.embedding.box().magnitude
    reach = []
    for layer in model.convolutions:
        assert isinstance(layer, torch.nn.Conv1d)
        assert layer.bias is not None
        reach.append(layer.bias.abs() + torch.einsum("fdk,d->f", layer.weight.abs(), words))
    return reach
