"""How much a margin must exceed zero before it counts: two allowances for rounding, both stated in every certificate.

Bounds are sums and products in float64, rounded to nearest. The first allowance covers that: 1e-9 of the largest margin
that the model's head can make. Linear growth of rounding errors over a text of 512 words and 1,500 products per window
would stay below 1e-10 of it.

A certificate speaks of the function that the weights define in real arithmetic. A model that is deployed in float32
evaluates it with errors of its own. The second allowance covers those: the greatest difference between the margins in
float32 and in float64, measured on texts of many lengths drawn from the model's whole vocabulary with a fixed seed,
times eight. It is a measurement with a factor of safety, not a proof; for a model in float64 it is zero.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.certify.tiers import in_float64
from sgbt.models import AnyModel, BiLSTM, TextClassifier, TextCNN, TwoChannel
from sgbt.models.activations import ACTIVATIONS

FLOAT64_SHARE = 1e-9
SAFETY = 8.0
_TEXTS_PER_LENGTH = 4


@torch.no_grad()
def rounding_slack(classifier: TextClassifier) -> float:
    """The slack of a classifier's certificates: it depends on the model alone, not on the texts."""
    precise = in_float64(classifier.model)
    slack = FLOAT64_SHARE * (1.0 + largest_margin(precise))
    if next(classifier.model.parameters()).dtype is torch.float64:
        return slack
    return slack + SAFETY * measured_gap(classifier, precise)


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
    reach = []
    box = model.embedding.box()
    words = torch.maximum(box.magnitude, torch.zeros_like(box.lower))
    for layer in model.convolutions:
        assert isinstance(layer, torch.nn.Conv1d)
        assert layer.bias is not None
        reach.append(layer.bias.abs() + torch.einsum("fdk,d->f", layer.weight.abs(), words))
    z = torch.cat(reach)
    low, high = ACTIVATIONS[model.config.activation].range(-z, z)
    return torch.maximum(low.abs(), high.abs())
