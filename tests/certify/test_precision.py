"""Bounds are found in double precision throughout, and where numbers overflow nothing is proven."""

from __future__ import annotations

import pytest
import torch

from sgbt.certify import TIERS, Specification, certify, exhaustive, in_float64, margin_bounds
from sgbt.models import BagOfWords, CNNConfig, Sum, TextClassifier, TextCNN, WordEmbedding
from sgbt.threats import Substitutions, SubstitutionTable, Vocabulary


def question_of(ids: torch.Tensor) -> Specification:
    allowed = (ids != ids[..., :1]) | (torch.arange(ids.shape[2]) == 0)
    labels = torch.zeros(len(ids), dtype=torch.int64)
    return Specification.of(Substitutions(ids, allowed), ids[..., 0] > 0, labels, classes=2, reference="itself")


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
    spec = question_of(ids)
    assert float(margin_bounds(tier, model, spec)) == pytest.approx(exhaustive(model, spec, 0).worst, abs=1e-13)


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
    spec = question_of(torch.tensor([[[2, 3], [2, 3], [4, 4], [0, 0]], [[2, 2]] * 4]))
    worst = exhaustive(precise, spec, 0).worst
    assert worst < -0.9
    for tier in TIERS:
        if tier not in ("full", "exact"):
            assert float(margin_bounds(tier, precise, spec)[0]) <= worst + 1e-12, tier


@pytest.mark.parametrize("beside", [False, True])
def test_rounding_of_a_long_text_never_tips_a_certified_label(beside: bool) -> None:
    """Praise first and blame after it, which nearly cancel: a sum in float32 forgets what the small words say."""
    generator = torch.Generator().manual_seed(0)
    words = tuple(f"w{number}" for number in range(5000))
    bag = BagOfWords(features=(), places=True)
    bag.adopt(codes=torch.ones(5002, dtype=torch.int64), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        bag.weight[:, 1] = 0.01 * torch.randn(5002, generator=generator)
        bag.weight[2:202, 1] = torch.rand(200, generator=generator) + 1
        bag.weight[102:202, 1] *= -1
        bag.weight[:, 0] = -bag.weight[:, 1]
    model = bag
    if beside:
        vectors = 0.01 * torch.randn(5002, 4, generator=generator)
        model = Sum((TextCNN(WordEmbedding(vectors), kernel_sizes=(1,), filters=2), bag))
    numbers = torch.randint(100, (2000,), generator=generator)
    text = [words[number] for number in (*numbers.tolist(), *(numbers + 100).tolist(), 4000)]
    table = SubstitutionTable({"w4000": ["w4001", "w4002"]})
    classifier = TextClassifier(model.eval(), Vocabulary(words), ("bad", "good"), table, max_length=5000)
    precise = in_float64(model)
    versions = [[*text[:-1], last] for last in ("w4000", "w4001", "w4002")]
    ids = torch.tensor([classifier.vocabulary.encode(version) for version in versions])
    margins = precise(ids)[:, 1] - precise(ids)[:, 0]
    with torch.no_grad():  # a bias that leaves the least of the three just above the slack
        bag.bias[1] -= float(margins.min())
    proven = 0
    for lift in torch.linspace(0, 2e-5, 21).tolist():
        with torch.no_grad():
            bag.bias[0] = -lift
        proof = certify(classifier, [" ".join(text)], table)[0]
        assert beside or torch.equal(model(ids), in_float64(model)(ids))
        proven += proof.certified
        if proof.certified:
            assert len(set(classifier.predict([" ".join(version) for version in versions]).labels)) == 1
    assert proven > 10
