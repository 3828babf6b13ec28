"""Bounds are found in double precision throughout, and where numbers overflow nothing is proven."""

from __future__ import annotations

import pytest
import torch

from sgbt.certify import TIERS, Question, exhaustive, in_float64, margin_bounds
from sgbt.lexicon import Substitutions
from sgbt.models import CNNConfig, TextCNN, WordEmbedding


def question_of(ids: torch.Tensor) -> Question:
    allowed = (ids != ids[..., :1]) | (torch.arange(ids.shape[2]) == 0)
    labels = torch.zeros(len(ids), dtype=torch.int64)
    return Question.of(Substitutions(ids, allowed), ids[..., 0] > 0, labels, classes=2, reference="itself")


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("tier", ["gbm", "sgbt-taylor", "crown"])
def test_a_tier_is_exact_where_the_model_is_linear(tier: str, pooling: str) -> None:
    """Above its kink ReLU is the identity; with max pooling the window that always wins is one that moves."""
    generator = torch.Generator().manual_seed(3)
    vectors = torch.rand(8, 4, generator=generator, dtype=torch.float64) + 0.5
    vectors[0] = 0
    vectors[6:] += 5
    config = CNNConfig(classes=2, kernel_sizes=(1,), filters=3, pooling=pooling, activation="relu")
    model = in_float64(TextCNN(WordEmbedding(vectors), config))
    assert isinstance(model, TextCNN)
    for parameter in model.convolutions.parameters():
        parameter.data = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
    ids = torch.tensor([[[2, 2]] * 58 + [[3, 4], [4, 3], [6, 7]]])
    question = question_of(ids)
    assert float(margin_bounds(tier, model, question)) == pytest.approx(exhaustive(model, question, 0).worst, abs=1e-13)


def test_a_window_that_is_not_there_and_overflows_proves_nothing() -> None:
    """A longer neighbour gives the first text a window too many, whose pre-activation overflows."""
    vectors = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1e200]], dtype=torch.float64)
    model = TextCNN(WordEmbedding(vectors), CNNConfig(classes=2, kernel_sizes=(2,), filters=1)).double()
    with torch.no_grad():
        for parameter in (*model.convolutions.parameters(), *model.head.parameters()):
            parameter.zero_()
        model.convolutions[0].weight[0, 0] = 0.5
        model.convolutions[0].weight[0, 1, 0] = 1e200
        model.head.weight.copy_(torch.tensor([[1.0], [-1.0]]))
    precise = in_float64(model)
    question = question_of(torch.tensor([[[2, 3], [2, 3], [4, 4], [0, 0]], [[2, 2]] * 4]))
    worst = exhaustive(precise, question, 0).worst
    assert worst < -0.9
    for tier in TIERS:
        if tier not in ("full", "exact"):
            assert float(margin_bounds(tier, precise, question)[0]) <= worst + 1e-12, tier
