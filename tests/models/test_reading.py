"""What both models promise about reading: padding, companions, masks, odd texts, any number of classes."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from tests import small

import sgbt
from sgbt.models import BiLSTM, TextClassifier, TextCNN


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_two_channels_are_the_sum_of_their_parts(kind: str) -> None:
    model = small.two_channel(kind)
    ids = torch.tensor([[2, 3, 4, 0], [5, 0, 0, 0]])
    assert torch.equal(model(ids), model.parts[0](ids) + model.parts[1](ids))


def test_options_may_be_given_by_name_or_as_a_value() -> None:
    table = small.vectors()
    assert TextCNN(table, TextCNN.Options(filters=7), classes=3).config == TextCNN.Options(filters=7, classes=3)
    assert BiLSTM(table, hidden=5, projection=4).forwards.input_size == 4


def test_a_prediction_says_how_many_words_there_are_even_where_not_all_are_read() -> None:
    model = small.model_of("cnn")
    classifier = TextClassifier(model, small.VOCABULARY, ("no", "yes"), max_length=2)
    found = classifier.predict(["one two, three", "", "x"])
    assert found.words.tolist() == [4, 0, 1]


@pytest.mark.parametrize("module", [sgbt, sgbt.models])
@pytest.mark.parametrize(("old", "new"), [("LinearBag", "BagOfWords"), ("GramBag", "BagOfNgrams")])
def test_the_names_of_earlier_versions_give_a_warning_of_one_line(module: ModuleType, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"^{old} is now called {new}$"):
        found = getattr(module, old)
    assert found is getattr(module, new)
