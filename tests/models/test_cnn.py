"""TextCNN: the fast way equals the plain convolution, and only real windows count."""

from __future__ import annotations

import pytest
import torch
from tests import small
from torch import Tensor

from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS


def plain(model: TextCNN, words: Tensor) -> Tensor:
    """One unpadded text, the textbook way: nn.Conv1d, activation, pooling, head."""
    vectors = model.embedding(model.embedding.encode(words)).T.unsqueeze(0)  # [1, width, words]
    function = ACTIVATIONS[model.config.activation].function
    features = []
    for layer in model.convolutions:
        missing = max(layer.kernel_size[0] - vectors.shape[2], 0)
        values = function(layer(torch.nn.functional.pad(vectors, (0, missing))))
        features.append(values.amax(dim=2) if model.config.pooling == "max" else values.mean(dim=2))
    return model.head(torch.cat(features, dim=1))[0]


def padded(texts: list[Tensor], width: int) -> Tensor:
    return torch.stack([torch.nn.functional.pad(text, (0, width - len(text))) for text in texts])


@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("projection", [None, 3])
def test_ids_vectors_and_the_plain_convolution_agree(pooling: str, activation: str, projection: int | None) -> None:
    model = small.model_of("cnn", pooling=pooling, activation=activation, projection=projection, classes=4)
    texts = [torch.tensor(small.VOCABULARY.encode(words)) for words in small.random_texts(12, 9, seed=1)]
    ids = padded(texts, 11)
    expected = torch.stack([plain(model, text) for text in texts])
    assert torch.allclose(model(ids), expected, atol=1e-6)
    vectors = model.embedding(ids)
    assert torch.allclose(model.from_vectors(vectors, ids != 0), expected, atol=1e-6)


def test_every_parameter_has_the_gradient_of_the_plain_way() -> None:
    model = small.model_of("cnn", trainable_embedding=True, projection=3)
    ids = torch.tensor([[2, 3, 4, 5, 2, 2], [6, 7, 0, 0, 0, 0]])
    model(ids).square().sum().backward()
    fast = {name: value.grad.clone() for name, value in model.named_parameters()}
    model.zero_grad()
    torch.stack([plain(model, ids[0]), plain(model, ids[1, :2])]).square().sum().backward()
    for name, value in model.named_parameters():
        assert torch.allclose(fast[name], value.grad, atol=1e-5), name
