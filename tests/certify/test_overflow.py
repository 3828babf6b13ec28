"""Numbers at the ends of their precision: sums that overflow in float32, and margins that probabilities cannot show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sgbt import SubstitutionTable, certify
from sgbt.core.errors import CertificateError
from sgbt.models import BagOfWords, CNNConfig, TextClassifier, TextCNN, WordEmbedding
from sgbt.threats import Vocabulary

WORDS = ("good", "bad", "film", "the")
TABLE = SubstitutionTable({"good": ("bad",)}, "good or bad")


@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "softplus", "gelu"])
def test_a_network_that_may_overflow_in_float32_is_refused(activation: str, pooling: str) -> None:
    vectors = np.array([[0, 0], [0, 0], [1e-10, 0], [1e20, 1e20], [0, 0], [0, 0]], dtype=np.float32)
    config = CNNConfig(filters=2, kernel_sizes=(1,), pooling=pooling, activation=activation, dropout=0.0)
    model = TextCNN(WordEmbedding(torch.from_numpy(vectors)), config)
    with torch.no_grad():
        layer = model.convolutions[0]
        layer.weight[:, 0], layer.weight[:, 1] = 1e20, -1e20
        layer.bias.zero_()
        model.head.weight.zero_()
        model.head.bias.copy_(torch.tensor([0.0, 50.0]))
    victim = TextClassifier(model.eval(), Vocabulary(WORDS), ("n", "p"), TABLE)
    assert np.isnan(victim.predict(["bad film"]).probabilities).any()  # this is what must not be certified
    with pytest.raises(CertificateError, match="float32 whose sums"):
        certify(victim, ["good film"])


@pytest.mark.parametrize("scale", [1e-13, 1e-17, 1e-20, 1e-30])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_a_margin_that_probabilities_cannot_show_certifies_nothing(precision: torch.dtype, scale: float) -> None:
    model = BagOfWords()
    model.adopt(codes=torch.arange(6), keys=torch.zeros(0, dtype=torch.int64))
    model = model.to(precision)
    with torch.no_grad():
        model.weight[:, 1] = scale
        model.weight[3, 1] = scale / 2
    proof = certify(TextClassifier(model.eval(), Vocabulary(WORDS), ("n", "p"), TABLE), ["good film"], labels=[1])[0]
    assert not proof.certified
