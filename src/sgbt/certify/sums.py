"""A sum of models: its bounds, allowances and magnitudes are those of its parts, times their weights, added."""

from __future__ import annotations

import torch

from sgbt.certify.rounding import DOUBLE, SINGLE, float32_allowance, float64_allowance, largest_logit
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, WeightedVerifier, lowest_margin, verifiers, words_at_once
from sgbt.certify.word_tables import WordTables
from sgbt.models import Sum


@verifiers.register
def _verifiers(model: Sum, spec: Specification, tables: WordTables) -> list[Verifier]:
    found = [(weight, own) for weight, part in model.terms for own in verifiers(part, spec, tables)]
    return [own if weight == 1 else WeightedVerifier(own, weight) for weight, own in found]


@float64_allowance.register
@torch.no_grad()
def _in_float64(model: Sum, *, longest: int) -> float:
    """Of n terms there are n - 1 additions and, with weights, n products, each off by a unit of what it makes.

    With L the sum of all largest logits, two logits of a margin are off by 2 L for each operation and 2 L for their
    difference; a bound above zero is a sum of terms of at most 4 L together, off by 4 L for each of n - 1, or n, steps.
    """
    operations = len(model.terms) - 1 + (0 if model.plain else len(model.terms))
    logits = sum(weight * largest_logit(part, longest=longest) for weight, part in model.terms)
    parts = sum(weight * float64_allowance(part, longest=longest) for weight, part in model.terms)
    return 8 * operations * DOUBLE * logits + parts


@float32_allowance.register
@torch.no_grad()
def _in_float32(model: Sum, *, longest: int) -> float:
    """Logits of several networks are added in float32, unless there are weights: those are applied in float64."""
    gaps = [(weight, part, float32_allowance(part, longest=longest)) for weight, part in model.terms]
    singles = [part for _, part, gap in gaps if gap]  # without a gap it has no logit, or adds up in float64
    logits = sum(largest_logit(part, longest=longest) for part in singles) if model.plain else 0.0
    return 4 * SINGLE * max(len(singles) - 1, 0) * logits + sum(weight * gap for weight, _, gap in gaps)


@lowest_margin.register
def _lowest(model: Sum, *, longest: int) -> float:
    return sum(weight * lowest_margin(part, longest=longest) for weight, part in model.terms)


@words_at_once.register
def _batch(model: Sum) -> int:
    return min(words_at_once(part) for part in model.parts)
