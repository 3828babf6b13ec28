"""How much a margin must exceed zero before it counts: two allowances for rounding, both stated in every certificate.

Bounds are sums and products in float64, rounded to nearest. The first allowance covers that: 1e-9 of the largest margin
that the model's head can make. Linear growth of rounding errors over a text of 512 words and 1,500 products per window
would stay below 1e-10 of it.

A certificate speaks of the function that the weights define in real arithmetic. A model that is deployed in float32
evaluates it with errors of its own, and the second allowance covers those. It is zero for a model in float64, and for
the linear models, which add up in float64 whatever their weights are stored in. Of a TextCNN in float32, alone or
beside a linear model, it is proven (`proven_gap`). Through the steps of an LSTM errors may grow, and a proof would
allow for more than any margin; there, and in other precisions, it is eight times the greatest difference between the
margins as deployed and in float64, measured on texts of many lengths drawn from the model's whole vocabulary with a
fixed seed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.certify.tiers import in_float64, require_finite
from sgbt.models import AnyModel, Bag, BiLSTM, TextClassifier, TextCNN, TwoChannel
from sgbt.models.activations import ACTIVATIONS

FLOAT64_SHARE = 1e-9
SAFETY = 8.0
UNIT = 2.0**-24
"""The unit roundoff u of float32: a rounded operation is exact but for a factor 1 + d with |d| <= u."""
ACTIVATION_UNITS = 8
"""How many units an activation may be off, of its own value: torch's vectorised ones stay within 4."""
STEEPEST = 1.2
"""No activation rises faster: gelu' stays below 1.13, the others' derivatives below or at 1."""
_TEXTS_PER_LENGTH = 4


@torch.no_grad()
def rounding_slack(classifier: TextClassifier) -> float:
    """The slack of a classifier's certificates: it depends on the model alone, not on the texts."""
    require_finite(classifier.model)
    precise = in_float64(classifier.model)
    slack = FLOAT64_SHARE * (1.0 + largest_margin(precise))
    if isinstance(precise, Bag) or next(classifier.model.parameters()).dtype is torch.float64:
        return slack
    beside = isinstance(precise, TwoChannel) and isinstance(precise.codes, Bag)
    network = precise.words if beside else precise  # a linear channel adds its logits in float64
    single = all(weight.dtype is torch.float32 for weight in classifier.model.parameters())
    if single and isinstance(network, TextCNN) and network.embedding.projection is None:
        return slack + proven_gap(network, longest=classifier.max_length)
    return slack + SAFETY * measured_gap(classifier, precise)


@torch.no_grad()
def proven_gap(model: TextCNN, *, longest: int) -> float:
    """A bound on the difference of any margin of a TextCNN between float32 and real arithmetic, whatever text is read.

    A sum of n products, in any order, is off by at most gamma_n = n u / (1 - n u) times the sum of their magnitudes
    (Higham 2002, section 3.1). The magnitudes of a window are at most sum_l |W_l| |v| by Cauchy's inequality, and at
    most what they are for the largest number that any word has in each coordinate; the smaller of the two counts.
    Errors pass the activation with its steepest slope and the head with the difference of the two rows; pooling by the
    mean and the head add sums of their own.
    """
    ids = torch.arange(model.embedding.weight.shape[0], device=model.embedding.weight.device)
    norm = float(model.embedding(ids).norm(dim=1).amax())
    features, magnitudes = _feature_magnitudes(model), _window_magnitudes(model)
    errors = []
    for layer, largest in zip(model.convolutions, magnitudes, strict=True):
        filters = layer.get_parameter("weight")  # [filters, width, size]
        by_norms = layer.get_parameter("bias").abs() + norm * filters.norm(dim=1).sum(dim=1)
        reach = torch.minimum(by_norms, largest)
        errors.append(STEEPEST * _gamma(filters[0].numel() + filters.shape[2] + 1) * reach)
    off = torch.cat(errors) + ACTIVATION_UNITS * UNIT * features
    if model.config.pooling == "mean":
        off = off + _gamma(longest + 1) * (features + off)
    weight, bias = model.head.weight, model.head.bias
    summed = _gamma(weight.shape[1] + 2) * (weight.abs() @ (features + off) + bias.abs())
    passed = ((weight.unsqueeze(0) - weight.unsqueeze(1)).abs() * off).sum(dim=-1)
    return float((passed + summed.unsqueeze(0) + summed.unsqueeze(1)).amax())


def _gamma(products: int) -> float:
    return products * UNIT / (1 - products * UNIT)


def largest_margin(model: AnyModel) -> float:
    """The greatest difference of two logits that the head can make of features in their range."""
    if isinstance(model, TwoChannel):
        return sum(largest_margin(part) for part in model.parts)
    head = getattr(model, "head", None)
    if not isinstance(head, torch.nn.Linear):
        return 1000.0 * max(float(weight.abs().amax()) for weight in model.parameters())  # words that add up
    weight, bias = head.weight, head.bias
    spread = (weight.unsqueeze(0) - weight.unsqueeze(1)).abs()
    features = _feature_magnitudes(model)
    return float(((spread * features).sum(dim=-1) + (bias.unsqueeze(0) - bias.unsqueeze(1)).abs()).amax())


@torch.no_grad()
def measured_gap(classifier: TextClassifier, precise: AnyModel) -> float:
    """The greatest difference of margins between the model as it is deployed and its copy in float64."""
    generator = torch.Generator().manual_seed(0)
    training = classifier.model.training
    classifier.model.eval()
    gap, length = 0.0, 1
    try:
        while True:
            shape = (_TEXTS_PER_LENGTH, min(length, classifier.max_length))
            ids = torch.randint(1, max(len(classifier.vocabulary), 2), shape, generator=generator)
            ids = ids.to(classifier.device)
            difference = classifier.model(ids).double() - precise(ids)
            gap = max(gap, float((difference.amax(dim=1) - difference.amin(dim=1)).amax()))
            if length >= classifier.max_length:
                return gap
            length *= 2
    finally:
        classifier.model.train(training)


def _feature_magnitudes(model: AnyModel) -> Tensor:
    """An upper bound of every pooled feature's magnitude, whatever text is read."""
    if isinstance(model, BiLSTM):
        return model.head.weight.new_ones(())
    assert isinstance(model, TextCNN)
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
