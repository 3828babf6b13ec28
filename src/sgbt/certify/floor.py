"""The margin that every text has at least, whatever it says: what is known of a text for which no tier found more."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.rounding import largest_margin
from sgbt.models import BagOfNgrams, BagOfWords, BiLSTM, Sum, TextCNN


@singledispatch
def lowest_margin(model: Any, *, longest: int) -> float:
    """A lower bound of (logit of a class - logit of another) over all texts of at most `longest` words.

    A model of another kind has none: nothing is known of its texts but what a tier proves.
    """
    return -math.inf


@lowest_margin.register
def _of_network(model: TextCNN | BiLSTM, *, longest: int) -> float:
    return -largest_margin(model)  # its head makes no more than this of features in their range


@lowest_margin.register
def _of_sum(model: Sum, *, longest: int) -> float:
    return sum(weight * lowest_margin(part, longest=longest) for weight, part in model.terms)


@lowest_margin.register
def _of_gram_bag(model: BagOfNgrams, *, longest: int) -> float:
    """Every n-gram counts once, so no text has more than all of them."""
    return -_greatest_lead(model, lambda leads: float(leads.sum()))


@lowest_margin.register
def _of_linear_bag(model: BagOfWords, *, longest: int) -> float:
    """A position has one word and one feature of each family, and the factors of n positions, whose squares add up to
    one, add up to at most the square root of n.
    """
    features = (1 + len(model.config.features)) * max(longest, 1) ** 0.5
    return -_greatest_lead(model, lambda leads: float(leads.amax()) * features)


@torch.no_grad()
def _greatest_lead(model: BagOfNgrams | BagOfWords, reach: Callable[[Tensor], float]) -> float:
    """The greatest over pairs of classes of what the differences of their weights reach, with their biases."""
    return max(
        reach((model.weight[:, one] - model.weight[:, other]).double().abs())
        + abs(float(model.bias[one] - model.bias[other]))
        for one, other in permutations(range(model.config.classes), 2)
    )
