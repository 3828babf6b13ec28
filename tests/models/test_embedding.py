"""WordEmbedding: ids to vectors, padding always zero, and the box of all that a model can read."""

from __future__ import annotations

import pytest
import torch
from tests import small

from sgbt.core.errors import ModelError
from sgbt.models import BiLSTM, TextCNN, WordEmbedding
from sgbt.threats import Vocabulary


def test_a_frozen_table_gets_no_gradient_and_a_trainable_one_does_except_for_padding() -> None:
    ids = torch.tensor([[2, 3, 0], [4, 0, 0]])
    for kind in ("cnn", "bilstm"):
        frozen, trainable = (small.model_of(kind, trainable_embedding=free) for free in (False, True))
        for model in (frozen, trainable):
            model(ids).square().sum().backward()
        assert frozen.embedding.weight.grad is None
        gradient = trainable.embedding.weight.grad
        assert gradient is not None
        assert gradient[[2, 3, 4]].abs().sum(dim=1).min() > 0
        assert not gradient[0].any()
        assert not gradient[5:].any()


def test_padding_is_zero_whatever_stands_in_its_row_and_also_behind_a_projection() -> None:
    embedding = WordEmbedding(torch.ones(4, 3), projection=5)
    assert not embedding(torch.tensor([0])).any()
    assert embedding.width == 5
    assert embedding(torch.tensor([[1, 2]])).shape == (1, 2, 5)


@pytest.mark.parametrize("projection", [None, 4])
@pytest.mark.parametrize("trainable", [False, True])
def test_the_box_holds_every_vector_and_zero(projection: int | None, trainable: bool) -> None:
    torch.manual_seed(0)
    embedding = WordEmbedding(torch.rand(9, 3) + 1, projection=projection, trainable=trainable)
    box = embedding.box()
    for number in range(9):
        assert box.contains(embedding(torch.tensor(number)).detach(), slack=1e-6)


def test_the_box_of_a_trainable_table_never_moves_the_padding_row() -> None:
    matrix = torch.rand(5, 3) + 1
    matrix[0] = 0
    embedding = WordEmbedding(matrix, trainable=True)
    box = embedding.box()
    (box.upper - box.lower).sum().backward()
    assert embedding.weight.grad is not None
    assert not embedding.weight.grad[0].any()
    assert embedding.weight.grad.any()


def test_the_box_of_a_frozen_table_follows_changes_of_weights_and_precision() -> None:
    embedding = WordEmbedding(torch.randn(5, 3))
    first = embedding.box()
    assert embedding.box().lower is not None
    embedding.load_state_dict({"weight": 7 * embedding.weight.detach()})
    assert torch.allclose(embedding.box().upper, 7 * first.upper)
    assert embedding.double().box().lower.dtype == torch.float64


def test_codes_make_synonyms_one_word() -> None:
    codes = torch.arange(len(small.VOCABULARY))
    good, great = (small.VOCABULARY.id_of(word) for word in ("good", "great"))
    codes[great] = good
    for kind in ("cnn", "bilstm"):
        model = small.model_of(kind, codes=codes)
        texts = torch.tensor([[good, 12, 13], [great, 12, 13]])
        assert torch.equal(*model.embedding.encode(texts))
        torch.testing.assert_close(*model(texts), rtol=0, atol=1e-6)  # rows of a product round apart


def test_adopting_needs_a_table() -> None:
    with pytest.raises(ModelError, match="made of an EmbeddingTable"):
        WordEmbedding(torch.zeros(3, 2)).adopt(Vocabulary(("a",)))
    embedding = WordEmbedding.of(small.vectors(), trainable=True)
    embedding.adopt(Vocabulary(("film", "nowhere")))
    assert embedding.weight.shape == (4, 6)
    assert embedding.weight.requires_grad
    assert torch.equal(embedding.weight[2].detach(), torch.from_numpy(small.vectors().vector("film").copy()))


@pytest.mark.parametrize("kind", [TextCNN, BiLSTM])
@pytest.mark.parametrize(
    "options",
    [{"dropout": 1.0}, {"dropout": -0.1}, {"projection": 0}, {"projection": -3}, {"classes": 1}, {"pooling": "sum"}],
)
def test_options_that_no_model_can_have_are_refused(kind: type, options: dict) -> None:
    with pytest.raises(ModelError, match="expected"):
        kind(small.vectors(), **options)
