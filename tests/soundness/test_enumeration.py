"""No combination of substitutes goes below any tier's bound: every variant of every text is looked at."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.soundness.cases import all_models, classes_of, random_question, with_allowed
from torch import Tensor

from sgbt.certify import TIERS, exhaustive, in_float64, margin_bounds
from sgbt.models import AnyModel, BiLSTM
from sgbt.models.blueprint import parts_of

SLACK = 1e-12
"""How far sums in another order may differ; bounds of BiLSTMs allow for that themselves."""
ALLOWED = 2e-9
"""How much a bound of a BiLSTM may stay below what is exact, because it allows for rounding; weights here are large."""


def agrees(bound: Tensor, exact: Tensor, model: AnyModel) -> bool:
    """Whether a bound is what is exact, but for the order of sums and, of a BiLSTM, for what is allowed below."""
    allowed = ALLOWED if any(isinstance(part, BiLSTM) for part in parts_of(model)) else SLACK
    return bool((bound <= exact + SLACK).all() and (bound >= exact - allowed).all())


@pytest.mark.parametrize("seed", range(10))
def test_no_variant_of_a_random_text_goes_below_any_bound_of_a_random_model(seed: int) -> None:
    for name, model in all_models(seed):
        precise, classes = in_float64(model), classes_of(model)
        for budget in (None, 1, 2):
            spec = random_question(seed, classes=classes, budget=budget)
            exact = torch.stack([exhaustive(precise, spec, text).margins for text in range(len(spec))])
            for tier in TIERS:
                bound = margin_bounds(tier, precise, spec)
                assert bound.shape == exact.shape
                assert (bound <= exact + SLACK).all(), (name, tier, budget, (exact - bound).min())


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_no_variant_goes_below_any_bound_in_a_long_campaign(seed: int) -> None:
    for name, model in all_models(seed):
        precise = in_float64(model)
        spec = random_question(seed, classes=classes_of(model), texts=12, words=6, budget=seed % 4 or None)
        exact = torch.stack([exhaustive(precise, spec, text).margins for text in range(len(spec))])
        for tier in TIERS:
            assert (margin_bounds(tier, precise, spec) <= exact + SLACK).all(), (name, tier)


@pytest.mark.parametrize("seed", range(6))
def test_every_tier_is_exact_where_nothing_can_be_replaced(seed: int) -> None:
    for name, model in all_models(seed):
        precise = in_float64(model)
        spec = random_question(seed, classes=classes_of(model), choices=1)
        exact = torch.stack([exhaustive(precise, spec, text).margins for text in range(len(spec))])
        for tier in TIERS:
            assert agrees(margin_bounds(tier, precise, spec), exact, model), (name, tier)


@pytest.mark.parametrize("seed", range(6))
def test_a_budget_of_none_is_the_text_itself_and_a_larger_one_is_never_better(seed: int) -> None:
    for name, model in all_models(seed):
        precise, classes = in_float64(model), classes_of(model)
        questions = [random_question(seed, classes=classes, budget=budget) for budget in (0, 1, 2, 5, None)]
        clean = torch.stack([exhaustive(precise, questions[0], text).margins for text in range(len(questions[0]))])
        for tier in TIERS:
            bounds = [margin_bounds(tier, precise, spec) for spec in questions]
            assert agrees(bounds[0], clean, model), (name, tier)
            for small, large in itertools.pairwise(bounds):
                assert (large <= small + SLACK).all(), (name, tier)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**20), share=st.floats(0, 1))
def test_one_more_substitute_never_raises_a_bound(seed: int, share: float) -> None:
    """Of any tier: slopes stay as they are, since their reference does, and offsets only move outwards."""
    for name, model in all_models(seed):
        precise = in_float64(model)
        large = random_question(seed, classes=classes_of(model), budget=seed % 5 or None)
        kept = torch.rand(large.allowed.shape, generator=torch.Generator().manual_seed(seed)) < share
        kept[..., 0] = True
        small = with_allowed(large, large.allowed & kept)
        large = with_allowed(large, large.allowed)
        for tier in TIERS:
            raised = margin_bounds(tier, precise, large) - margin_bounds(tier, precise, small)
            assert raised.max() <= SLACK, (name, tier, raised.max())


@pytest.mark.parametrize("seed", range(4))
def test_neither_padding_nor_companions_change_a_bound(seed: int) -> None:
    for name, model in all_models(seed):
        precise = in_float64(model)
        spec = random_question(seed, classes=classes_of(model))
        for tier in TIERS:
            together = margin_bounds(tier, precise, spec)
            for text in range(len(spec)):
                alone = margin_bounds(tier, precise, spec.take(torch.tensor([text])))
                assert torch.allclose(together[text], alone[0], rtol=0, atol=1e-10), (name, tier)
