"""How much a margin must exceed zero before it counts: a proven allowance for rounding, stated in every certificate.

A certificate speaks of the labels that a classifier gives, and those are computed. The allowance covers the difference
between a margin in real arithmetic and as the classifier computes it, and the rounding of the bound, which is found in
float64. It depends on the model alone, and rests on one fact: a sum of n products, in any order, is off by at most
gamma_n = n u / (1 - n u) times the sum of their magnitudes (Higham 2002, section 3.1), with u the unit roundoff.

- A TextCNN decides in float32; sums are bounded by the magnitudes of its own weights and vectors (`proven_gap`).
- The linear models add up in float64 whatever their weights are stored in; a text has at most `max_length` words.
- A BiLSTM, and whatever is stored in half precision, decides in float64 (`sgbt.models.deciding`). Through its steps
  errors may grow, so they are part of its bounds themselves (`sgbt.certify.lstm_rounding`); what is left is its head.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.lstm_rounding import gamma
from sgbt.certify.tiers import in_float64, require_finite
from sgbt.core.errors import CertificateError
from sgbt.models import BagOfNgrams, BagOfWords, BiLSTM, Sum, TextClassifier, TextCNN
from sgbt.models.activations import ACTIVATIONS
from sgbt.models.deciding import decides_in_float64
from sgbt.threats.vocabulary import PADDING

FLOAT64_SHARE = 1e-9
"""Of the largest margin that a head can make: more than the rounding of what a bound adds up behind the features."""
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
"""The unit roundoffs u of float32 and float64: a rounded operation is exact but for a factor 1 + d with |d| <= u."""
ACTIVATION_UNITS = 8
"""How many units an activation may be off, of its own value: torch's vectorised ones stay within 4."""
STEEPEST = 1.2
"""No activation rises faster: gelu' stays below 1.13, the others' derivatives below or at 1."""
LEAST_SLACK = 1e-12
"""No allowance is smaller, so that probabilities in float64 still tell labels apart: exp(-1e-12) < 1 as computed."""
LARGEST_SINGLE = 2.0**120
"""No number on the way of a model that decides in float32 may be larger: some way below where float32 overflows."""
TIMES_IN_BOUNDS = 16
"""How often the error of one evaluation may come up in a bound: two ends, the text itself, lines and gains of swaps."""


@torch.no_grad()
def rounding_slack(classifier: TextClassifier) -> float:
    """The slack of a classifier's certificates: it depends on the model alone, not on the texts."""
    require_finite(classifier.model)
    precise, longest = in_float64(classifier.model), classifier.max_length
    slack = max(float64_allowance(precise, longest=longest), LEAST_SLACK)
    single = any(weight.dtype is torch.float32 for weight in classifier.model.parameters())
    if not single or decides_in_float64(classifier.model):
        return slack
    terms = precise.terms if isinstance(precise, Sum) else [(1.0, precise)]
    networks = [(weight, part) for weight, part in terms if isinstance(part, TextCNN)]  # linear models add in float64
    for _, part in networks:
        _refuse_overflow(part, longest=longest)
    added = 0.0
    if not isinstance(precise, Sum) or precise.plain:  # else logits are weighted and added in float64
        logits = sum(largest_logit(part, longest=longest) for _, part in networks)
        added = 4 * SINGLE * max(len(networks) - 1, 0) * logits
    return slack + added + sum(weight * proven_gap(part, longest=longest) for weight, part in networks)


@singledispatch
def float64_allowance(model: Any, *, longest: int) -> float:
    """What rounding in float64 may do to a margin that a model decides by, and to a bound on it, for every text of at
    most `longest` words. A new kind of model registers its own here: without a proof of that there is no certificate.
    """
    raise CertificateError(
        expected="a model whose rounding is known",
        got=type(model).__name__,
        remedy="register an allowance: @sgbt.certify.float64_allowance.register",
    )


@float64_allowance.register
@torch.no_grad()
def _of_sum(model: Sum, *, longest: int) -> float:
    """Of n terms there are n - 1 additions and, with weights, n products, each off by a unit of what it makes.

    With L the sum of all largest logits, two logits of a margin are off by 2 L for each operation and 2 L for their
    difference; a bound above zero is a sum of terms of at most 4 L together, off by 4 L for each of n - 1, or n, steps.
    """
    operations = len(model.terms) - 1 + (0 if model.plain else len(model.terms))
    logits = sum(weight * largest_logit(part, longest=longest) for weight, part in model.terms)
    parts = sum(weight * float64_allowance(part, longest=longest) for weight, part in model.terms)
    return 8 * operations * DOUBLE * logits + parts


@float64_allowance.register
@torch.no_grad()
def _of_bag(model: BagOfWords | BagOfNgrams, *, longest: int) -> float:
    features = _most_features(model, longest) + 128
    return TIMES_IN_BOUNDS * gamma(features, DOUBLE) * largest_logit(model, longest=longest)


@float64_allowance.register
@torch.no_grad()
def _of_network(model: TextCNN | BiLSTM, *, longest: int) -> float:
    share = FLOAT64_SHARE * (1 + largest_margin(model))
    if isinstance(model, BiLSTM):
        return share + 4 * gamma(longest + 2 * model.config.hidden + 8, DOUBLE) * largest_logit(model, longest=longest)
    return share + TIMES_IN_BOUNDS * proven_gap(model, longest=longest, unit=DOUBLE)


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


def largest_margin(model: TextCNN | BiLSTM) -> float:
    """The greatest difference of two logits that the head can make of features in their range."""
    weight, bias = model.head.weight, model.head.bias
    spread = (weight.unsqueeze(0) - weight.unsqueeze(1)).abs()
    features = _feature_magnitudes(model)
    return float(((spread * features).sum(dim=-1) + (bias.unsqueeze(0) - bias.unsqueeze(1)).abs()).amax())


@singledispatch
def largest_logit(model: Any, *, longest: int) -> float:
    """An upper bound of every logit's magnitude, and of the magnitudes of the terms that it is a sum of.

    A new kind of model registers its own here, to be certified as a part of a sum.
    """
    raise CertificateError(
        expected="parts of a Sum whose largest logits are known",
        got=type(model).__name__,
        remedy="register a bound: @sgbt.certify.rounding.largest_logit.register",
    )


@largest_logit.register
def _logit_of_network(model: TextCNN | BiLSTM, *, longest: int) -> float:
    weight, features = model.head.weight.abs(), _feature_magnitudes(model)
    return float(((weight * features).sum(dim=1) + model.head.bias.abs()).amax())


@largest_logit.register
def _logit_of_bag(model: BagOfWords | BagOfNgrams, *, longest: int) -> float:
    heaviest = float(model.weight.abs().amax()) if model.weight.numel() else 0.0
    count: float = _most_features(model, longest)
    if isinstance(model, BagOfWords):  # the squares of the factors of n words add up to one, so they to sqrt(n) at most
        count = count / math.sqrt(max(longest, 1))
    return count * heaviest + float(model.bias.abs().amax())


def _most_features(model: BagOfWords | BagOfNgrams, longest: int) -> int:
    """How many weights a text of so many words can have."""
    if isinstance(model, BagOfWords):
        return longest * (1 + len(model.config.features))
    config = model.config
    return longest * config.longest * len(config.resolutions) * (2 if config.ending else 1)


def _projection_error(model: TextCNN, unit: float) -> Tensor:
    """How far each coordinate of a word vector may be off because of a projection of the embedding."""
    words, layer = model.embedding.weight, model.embedding.projection
    if layer is None:
        return words.new_zeros(model.embedding.width)
    magnitude = layer.weight.abs() @ words[PADDING + 1 :].abs().amax(dim=0) + layer.bias.abs()
    return gamma(layer.in_features + 1, unit) * magnitude


def _feature_magnitudes(model: TextCNN | BiLSTM) -> Tensor:
    """An upper bound of every pooled feature's magnitude, whatever text is read."""
    if isinstance(model, BiLSTM):
        return model.head.weight.new_ones(())
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
