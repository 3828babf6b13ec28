"""How much a margin must exceed zero before it counts: a proven allowance for rounding, stated in every certificate.

A certificate is about the labels that a classifier gives, and those are computed. The allowance covers the difference
between a margin in real arithmetic and as the classifier computes it, and the rounding of the bound, which is found in
float64. It depends on the model alone, and rests on one fact: a sum of n products, in any order, is off by at most
gamma_n = n u / (1 - n u) times the sum of their magnitudes (Higham 2002, section 3.1), with u the unit roundoff.

- A TextCNN decides in float32; sums are bounded by the magnitudes of its own weights and vectors (`cnn.rounding`).
- The linear models add up in float64 whatever their weights are stored in; a text has at most `max_length` words.
- A BiLSTM, and whatever is stored in half precision, decides in float64 (`sgbt.models.deciding`). Through its steps
  errors may grow, so they are part of its bounds themselves (`bilstm.rounding`); what is left is its head.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.verifier import in_float64, require_finite
from sgbt.core.errors import CertificateError
from sgbt.models import TextClassifier
from sgbt.models.deciding import decides_in_float64

FLOAT64_SHARE = 1e-9
"""Of the largest margin that a head can make: more than the rounding of what a bound adds up behind the features."""
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
"""The unit roundoffs u of float32 and float64: a rounded operation is exact but for a factor 1 + d with |d| <= u."""
LEAST_SLACK = 1e-12
"""No allowance is smaller, so that probabilities in float64 still distinguish labels: exp(-1e-12) < 1 as computed."""
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
    return slack + float32_allowance(precise, longest=longest)


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


@singledispatch
def float32_allowance(model: Any, *, longest: int) -> float:
    """What deciding in float32 adds to that; nothing for what adds up in float64 whatever it is stored in.

    `model` is in float64. A model that could overflow in float32 is refused.
    """
    return 0.0


@singledispatch
def largest_logit(model: Any, *, longest: int) -> float:
    """An upper bound of every logit's magnitude, and of the magnitudes of the terms that it is a sum of."""
    raise CertificateError(
        expected="a part whose logits are bounded",
        got=type(model).__name__,
        remedy="register a bound: @sgbt.certify.rounding.largest_logit.register",
    )


def logit_of_head(head: torch.nn.Linear, features: Tensor) -> float:
    """The same for a head over features of at most these magnitudes."""
    return float(((head.weight.abs() * features).sum(dim=1) + head.bias.abs()).amax())


def margin_of_head(head: torch.nn.Linear, features: Tensor) -> float:
    """The greatest difference of two logits that a head can make of features of at most these magnitudes."""
    weight, bias = head.weight, head.bias
    spread = (weight.unsqueeze(0) - weight.unsqueeze(1)).abs()
    return float(((spread * features).sum(dim=-1) + (bias.unsqueeze(0) - bias.unsqueeze(1)).abs()).amax())


def gamma(terms: int, unit: float) -> float:
    """Higham's gamma_n; infinite where it bounds nothing."""
    return terms * unit / (1 - terms * unit) if terms * unit < 1 else float("inf")
