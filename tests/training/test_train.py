"""What `train` itself checks and makes: vocabularies, classes, labels by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import small
from tests.training.quick import run

from sgbt.core.errors import TrainingError
from sgbt.data import Split, TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import TextCNN, WordEmbedding
from sgbt.threats import Vocabulary
from sgbt.training import IBP, train


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(TrainingError, match="a substitution table for the objective ibp"):
        train(TextCNN(small.vectors()), small.dataset(), objective=IBP(), config=small.QUICK)
    with pytest.raises(TrainingError, match="a model with 2 classes, got 5"):
        run(model=TextCNN(small.vectors(), classes=5))
    with pytest.raises(TrainingError, match="a seed that is a whole number"):
        run(seed=-1)
    bare = TextCNN(WordEmbedding(small.matrix(4)))
    with pytest.raises(TrainingError, match="pass vocabulary="):
        run(model=bare)
    with pytest.raises(TrainingError, match="a vocabulary of 4 ids"):
        run(model=bare, vocabulary=small.VOCABULARY)
    with pytest.raises(TrainingError, match="device"):
        run(device="abacus")
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="a GPU that torch can use"):
            run(device="cuda")


def test_a_vocabulary_may_be_given_with_a_table_of_vectors_or_with_a_matrix() -> None:
    vocabulary = Vocabulary(small.WORDS[:5])
    assert run(vocabulary=vocabulary).model.vocabulary == vocabulary
    own = TextCNN(WordEmbedding(small.matrix(len(small.VOCABULARY))))
    assert run(model=own, vocabulary=small.VOCABULARY).model.vocabulary == small.VOCABULARY


def test_a_rare_word_without_a_vector_is_read_as_unknown() -> None:
    words = EmbeddingTable(small.WORDS[:12], np.ones((12, 3), dtype=np.float32), "few")
    data = small.dataset()
    counts = data.train.tokenised().counts()
    found = run(model=TextCNN(words), minimum_count=counts["actor"] + 1).model.vocabulary
    assert "actor" not in found
    assert "actor" in run(model=TextCNN(words), minimum_count=counts["actor"]).model.vocabulary


def test_ten_classes_and_labels_by_name() -> None:
    random = np.random.default_rng(0)
    names = tuple(f"class {number}" for number in range(10))

    def split(name: str, count: int) -> Split:
        labels = random.integers(0, 10, count)
        return Split(name, tuple(small.WORDS[label] for label in labels), labels)

    data = TextDataset("ten", names, split("train", 100), split("dev", 30), split("test", 10))
    found = run(model=TextCNN(small.vectors(), classes=10, dropout=0.0), data=data, epochs=30)
    assert found.dev["accuracy"] > 0.9
    assert found.model.predict([small.WORDS[3]]).labels == ("class 3",)
