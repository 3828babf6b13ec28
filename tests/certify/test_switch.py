"""The counterexample of the mathematics, section 2: a local expansion fails where another window wins."""

from __future__ import annotations

import math

import torch

from sgbt.certify import TIERS, Specification, exhaustive, in_float64, margin_bounds
from sgbt.models import CNNConfig, TextCNN, WordEmbedding
from sgbt.threats import Substitutions


def test_no_tier_expands_across_a_switch_of_the_greatest_window() -> None:
    words = WordEmbedding(torch.tensor([[0.0], [0.0], [1.0], [0.99], [1.10]], dtype=torch.float64))
    model = TextCNN(words, CNNConfig(classes=2, kernel_sizes=(1,), filters=1)).eval()
    with torch.no_grad():
        model.convolutions[0].weight.fill_(1.0)
        model.convolutions[0].bias.fill_(0.0)
        model.head.weight.copy_(torch.tensor([[0.0], [1.0]]))
        model.head.bias.fill_(0.0)
    ids = torch.tensor([[[2, 2], [3, 4]]])  # the words 1.00 and 0.99; the second may become 1.10
    allowed = torch.tensor([[[True, False], [True, True]]])
    spec = Specification.of(Substitutions(ids, allowed), ids[..., 0] > 0, torch.tensor([0]), classes=2)
    precise = in_float64(model)
    exact = exhaustive(precise, spec, 0).worst
    assert math.isclose(exact, -math.tanh(1.10))
    naive = -math.tanh(1.0)  # first order at the text: the second word is not read, so nothing would change
    assert naive - exact > 0.038
    for tier in TIERS:
        assert float(margin_bounds(tier, precise, spec)) <= exact + 1e-12, tier
