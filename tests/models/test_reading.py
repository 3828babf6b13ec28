"""What both models promise about reading: padding, companions, masks, odd texts, any number of classes."""

from __future__ import annotations

import pytest
import torch
from tests import small

from sgbt.models import BiLSTM, TextCNN

KINDS = [
    ("cnn", {"pooling": "max"}),
    ("cnn", {"pooling": "mean", "activation": "gelu"}),
    ("bilstm", {"pooling": "last"}),
    ("bilstm", {"pooling": "mean"}),
]
kinds = pytest.mark.parametrize(("kind", "options"), KINDS)


@kinds
def test_neither_padding_nor_companions_change_an_answer(kind: str, options: dict) -> None:
    model = small.model_of(kind, dtype=torch.float64, **options)
    texts = [small.VOCABULARY.encode(words) for words in small.random_texts(9, 7, seed=3)]
    whole = torch.zeros(9, 20, dtype=torch.int64)
    for row, text in enumerate(texts):
        whole[row, : len(text)] = torch.tensor(text)
    together = model(whole)
    for row, text in enumerate(texts):
        alone = model(torch.tensor([text]))[0]
        assert torch.allclose(alone, together[row], atol=1e-12)


@kinds
def test_texts_of_no_word_one_word_and_unknown_words_are_defined(kind: str, options: dict) -> None:
    model = small.model_of(kind, **options)
    ids = torch.tensor([[0, 0, 0, 0], [2, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
    logits = model(ids)
    assert torch.isfinite(logits).all()
    assert torch.allclose(model(torch.zeros(1, 1, dtype=torch.int64))[0], logits[0], atol=1e-6)
    assert torch.allclose(model(torch.zeros(1, 0, dtype=torch.int64))[0], logits[0], atol=1e-6)


@kinds
def test_a_mask_hides_whatever_ids_stand_behind_it(kind: str, options: dict) -> None:
    model = small.model_of(kind, **options)
    ids = torch.tensor([[2, 3, 4, 5, 6], [7, 8, 9, 9, 9]])
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    assert torch.allclose(model(ids, mask)[1], model(torch.tensor([[7, 8]]))[0], atol=1e-6)
    assert torch.allclose(model(ids, mask)[0], model(ids[:1])[0], atol=1e-6)


@kinds
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_any_number_of_classes(kind: str, options: dict, classes: int) -> None:
    assert small.model_of(kind, classes=classes, **options)(torch.tensor([[2, 3]])).shape == (1, classes)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_two_channels_are_the_sum_of_their_parts(kind: str) -> None:
    model = small.two_channel(kind)
    ids = torch.tensor([[2, 3, 4, 0], [5, 0, 0, 0]])
    assert torch.equal(model(ids), model.words(ids) + model.codes(ids))


def test_options_may_be_given_by_name_or_as_a_value() -> None:
    table = small.vectors()
    assert TextCNN(table, TextCNN.Options(filters=7), classes=3).config == TextCNN.Options(filters=7, classes=3)
    assert BiLSTM(table, hidden=5, projection=4).forwards.input_size == 4
