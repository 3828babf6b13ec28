"""Words that occur several times in a batch are bounded once: the same bounds as text by text, and below the truth."""

from __future__ import annotations

import pytest
import torch

from sgbt.certify import TIERS, Specification, exhaustive, in_float64, margin_bounds
from sgbt.models import CNNConfig, TextCNN, WordEmbedding
from sgbt.threats import Substitutions


def model_of(pooling: str) -> TextCNN:
    generator = torch.Generator().manual_seed(5)
    words = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    words[0] = 0
    model = TextCNN(WordEmbedding(words), CNNConfig(classes=3, kernel_sizes=(1, 2), filters=6, pooling=pooling)).eval()
    for parameter in model.parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator)
    return in_float64(model)  # type: ignore[return-value]


def question_of(ids: torch.Tensor, allowed: torch.Tensor) -> Specification:
    labels = torch.zeros(len(ids), dtype=torch.int64)
    return Specification.of(Substitutions(ids, allowed), ids[..., 0] > 0, labels, classes=3, reference="itself")


@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("tier", [tier for tier in TIERS if tier != "full"])
def test_places_of_one_word_may_allow_different_slots(tier: str, pooling: str) -> None:
    """A third slot that stands for the word itself is another swap, and changes nothing."""
    model = model_of(pooling)
    five, three = [5, 6, 5], [3, 4, 3]
    ids = torch.tensor([[five, five, three, five, three], [three, five, [8, 8, 8], three, [2, 1, 2]]])
    allowed = torch.tensor([[True, True, True]]).repeat(2, 5, 1)
    allowed[:, ::2, 2] = False
    fewer = allowed & ~((ids == ids[..., :1]) & (torch.arange(3) > 0))
    one, other = question_of(ids, allowed), question_of(ids, fewer)
    if pooling == "max" and tier == "exact":
        return  # there is no such tier
    found = margin_bounds(tier, model, one)
    assert torch.allclose(found, margin_bounds(tier, model, other), rtol=0, atol=1e-12)
    for text in range(2):
        alone = question_of(ids[text : text + 1], allowed[text : text + 1])
        assert torch.allclose(found[text], margin_bounds(tier, model, alone)[0], rtol=0, atol=1e-12)
        assert found[text].min() <= exhaustive(model, alone, 0).worst + 1e-9


def test_one_filter_and_several_rivals() -> None:
    generator = torch.Generator().manual_seed(1)
    words = WordEmbedding(torch.randn(5, 3, generator=generator, dtype=torch.float64))
    model = in_float64(TextCNN(words, CNNConfig(classes=3, kernel_sizes=(2,), filters=1, pooling="mean")))
    ids = torch.tensor([[[2, 3]] * 3])
    spec = question_of(ids, ids > 0)
    for tier in ("gbm", "sgbt-taylor", "crown"):
        assert margin_bounds(tier, model, spec).min() <= exhaustive(model, spec, 0).worst + 1e-12
