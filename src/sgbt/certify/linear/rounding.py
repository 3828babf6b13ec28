"""What rounding may do to the margins of the linear models, and how large those can be at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.rounding import DOUBLE, TIMES_IN_BOUNDS, float64_allowance, gamma, largest_logit
from sgbt.certify.verifier import lowest_margin, words_at_once
from sgbt.models import BagOfNgrams, BagOfWords

Bag = BagOfWords | BagOfNgrams


@float64_allowance.register
@torch.no_grad()
def _in_float64(model: Bag, *, longest: int) -> float:
    features = most_features(model, longest) + 128
    return TIMES_IN_BOUNDS * gamma(features, DOUBLE) * largest_logit(model, longest=longest)


@largest_logit.register
def _of_words(model: BagOfWords, *, longest: int) -> float:
    """The squares of the factors of n words add up to one, so they to sqrt(n) at most."""
    return most_features(model, longest) / math.sqrt(max(longest, 1)) * _heaviest(model) + _bias(model)


@largest_logit.register
def _of_ngrams(model: BagOfNgrams, *, longest: int) -> float:
    return most_features(model, longest) * _heaviest(model) + _bias(model)


def _heaviest(model: Bag) -> float:
    return float(model.weight.abs().amax()) if model.weight.numel() else 0.0


def _bias(model: Bag) -> float:
    return float(model.bias.abs().amax())


@singledispatch
def most_features(model: Any, longest: int) -> int:
    """How many weights a text of so many words can have."""
    raise TypeError(type(model).__name__)


@most_features.register
def _features_of_words(model: BagOfWords, longest: int) -> int:
    return longest * (1 + len(model.config.features))


@most_features.register
def _features_of_ngrams(model: BagOfNgrams, longest: int) -> int:
    config = model.config
    return longest * config.longest * len(config.resolutions) * (2 if config.ending else 1)


@words_at_once.register
def _batch(model: Bag) -> int:
    return 1 << 14


@lowest_margin.register
def _lowest_of_ngrams(model: BagOfNgrams, *, longest: int) -> float:
    """Every n-gram counts once, so no text has more than all of them."""
    return -_greatest_lead(model, lambda leads: float(leads.sum()))


@lowest_margin.register
def _lowest_of_words(model: BagOfWords, *, longest: int) -> float:
    """A position has one word and one feature of each family, and the factors of n positions, whose squares add up to
    one, add up to at most the square root of n.
    """
    features = (1 + len(model.config.features)) * max(longest, 1) ** 0.5
    return -_greatest_lead(model, lambda leads: float(leads.amax()) * features)


@torch.no_grad()
def _greatest_lead(model: Bag, reach: Callable[[Tensor], float]) -> float:
    """The greatest over pairs of classes of what the differences of their weights reach, with their biases."""
    return max(
        reach((model.weight[:, one] - model.weight[:, other]).double().abs())
        + abs(float(model.bias[one] - model.bias[other]))
        for one, other in permutations(range(model.config.classes), 2)
    )
