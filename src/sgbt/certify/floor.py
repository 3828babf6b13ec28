"""The margin that every text has at least, whatever it says: what is known of a text for which no tier found more."""

from __future__ import annotations

from itertools import permutations

import torch

from sgbt.certify.rounding import largest_margin
from sgbt.models import AnyModel, GramBag, LinearBag, TwoChannel


@torch.no_grad()
def lowest_margin(model: AnyModel, *, longest: int) -> float:
    """A lower bound of (logit of a class - logit of another) over all texts of at most `longest` words.

    A network's head makes no more than this of features in their range. In a `GramBag` every run of codes counts once,
    so no text has more than all of them. In a `LinearBag` a position has one word and one feature of each family, and
    the factors of n positions, whose squares add up to one, add up to at most the square root of n.
    """
    if isinstance(model, TwoChannel):
        return sum(lowest_margin(part, longest=longest) for part in model.parts)
    if not isinstance(model, GramBag | LinearBag):
        return -largest_margin(model)
    greatest = 0.0
    for one, other in permutations(range(model.config.classes), 2):
        leads = (model.weight[:, one] - model.weight[:, other]).double().abs()
        if isinstance(model, GramBag):
            reach = float(leads.sum())
        else:
            reach = float(leads.amax()) * (1 + len(model.config.features)) * max(longest, 1) ** 0.5
        greatest = max(greatest, reach + abs(float(model.bias[one] - model.bias[other])))
    return -greatest
