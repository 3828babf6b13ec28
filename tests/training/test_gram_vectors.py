"""What word vectors bring to a BagOfNgrams: codes share them, weights follow them, and nothing needs them later."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import small
from tests.training.test_linear import TABLE, reviews

from sgbt.data import TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfNgrams, load_classifier
from sgbt.models.bag_of_ngrams.model import MAP_SHIFT
from sgbt.resources import UnavailableError
from sgbt.resources.catalogue import COUNTER_FITTED
from sgbt.threats import Vocabulary
from sgbt.training import IBP, Run, train, train_auto
from sgbt.training.initialisers import cluster_vectors
from sgbt.training.linear.code_vectors import CodeVectors
from sgbt.training.linear.ngrams import Weights

WORST = IBP(kappa=1.0, ramp_epochs=0.0)


def vectors_of(*words: str) -> EmbeddingTable:
    numbers = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    return EmbeddingTable(words, numbers, "six numbers")


def test_codes_have_the_mean_vectors_of_their_words_by_every_map() -> None:
    vocabulary = Vocabulary(("good", "fine", "odd", "film"))
    told, counts = vectors_of("good", "fine", "film"), {"good": 3, "film": 1}
    maps = torch.tensor([[0, 1, 2, 2, 3, 4], [0, 1, 2, 3, 4, 1]])
    found = CodeVectors.of(maps, vocabulary, told, counts)
    assert found.keys.tolist() == [2, 4, 2 | 1 << MAP_SHIFT, 3 | 1 << MAP_SHIFT]  # odd and the unknown have none
    means = [cluster_vectors(vocabulary, told, counts, codes.numpy()) for codes in maps]
    assert torch.equal(found.vectors, torch.stack([means[0][2], means[0][5], means[1][2], means[1][3]]))


def test_weights_are_ratios_times_values_and_a_linear_function_of_vectors_and_both_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    ratios, vectors = torch.randn(5, 2, generator=generator), torch.randn(2, 3, generator=generator)
    weights = Weights(ratios, torch.tensor([4, 1]), vectors)
    assert not weights.of(*weights.start()).any()
    values, shared = (torch.randn(size, 2, generator=generator, requires_grad=True) for size in (5, 3))
    found = weights.of(values, shared)
    assert torch.allclose(found[[4, 1]], ratios[[4, 1]] * values[[4, 1]] + vectors @ shared)
    assert torch.equal(found[[0, 2, 3]], (ratios * values)[[0, 2, 3]])
    gradients = torch.autograd.grad((found**2).sum(), (values, shared))
    assert torch.allclose(gradients[0], 2 * ratios * found)
    assert torch.allclose(gradients[1], 2 * vectors.T @ found[[4, 1]], atol=1e-6)


def fitted(model: BagOfNgrams, folder: Path | None = None) -> Run:
    table = type(small.TABLE)(small.TABLE.entries | {"unseen": ("never",)})
    return train(model, small.dataset(), objective=WORST, substitutions=table, config=small.QUICK, out=folder)


def test_vectors_move_the_weights_of_words_that_train_lacks_and_are_not_kept(tmp_path: Path) -> None:
    told = vectors_of(*small.WORDS, "unseen", "never")
    run, without = fitted(BagOfNgrams(vectors=told), tmp_path / "run"), fitted(BagOfNgrams())
    model, vocabulary = run.model.model, run.model.vocabulary
    key = int(model.codes[vocabulary.id_of("unseen")])
    (place,) = (model.keys == key).nonzero().flatten().tolist()
    assert bool(model.weight[place].abs().sum() > 0)
    assert key not in without.model.model.keys.tolist()
    again = load_classifier(tmp_path / "run")
    assert again.identity == run.model.identity
    assert torch.equal(again.model.weight, model.weight)
    assert model.source is None


def choose(data: TextDataset, read: object) -> dict[str, object]:
    about = train_auto(data, table=TABLE, vectors=read).about
    json.dumps(about)
    return about["auto"]


def test_auto_learns_from_vectors_says_so_and_does_without() -> None:
    data, told = reviews(), vectors_of("good", "fine", "great", "bad", "poor", "film", "movie")

    def none() -> EmbeddingTable:
        raise UnavailableError(COUNTER_FITTED, ())

    with_them, without = choose(data, lambda: told), choose(data, none)
    assert with_them["vectors"] == "six numbers"
    assert "words learn from six numbers vectors" in with_them["reasons"][1]
    assert without == choose(data, None)
    assert without["vectors"] is None
    assert "learn from" not in without["reasons"][1]


def test_large_datasets_read_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgbt.training.size_settings.SMALL", 1)
    assert choose(reviews(), lambda: pytest.fail("vectors are read"))["vectors"] is None
