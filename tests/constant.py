"""A classifier that gives every text the same label."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch

from sgbt.models import TextClassifier


def constant(classifier: TextClassifier, label: int = 0) -> TextClassifier:
    """The same reader with a head that has made up its mind."""
    model = copy.deepcopy(classifier.model)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.zero_()
        model.head.bias[label] = 3.0
    return replace(classifier, model=model)
