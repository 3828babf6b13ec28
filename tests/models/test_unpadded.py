"""Logits without padding are those of the padded way; places in an index are those that a search finds."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tests.models.test_bag_of_ngrams import random_model as random_grams
from tests.models.test_bag_of_words import random_model as random_words

from sgbt.data import RaggedIds
from sgbt.data.batches import pad
from sgbt.models import BagOfNgrams, Sum
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.deciding import logits_unpadded
from sgbt.models.key_index import KeyIndex


def texts_of(words: int, seed: int) -> RaggedIds:
    generator = np.random.default_rng(seed)
    lengths = generator.choice([0, 1, 2, 3, 7, 30], 40)
    return RaggedIds(generator.integers(1, words, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)]))


def compare(model: torch.nn.Module, texts: RaggedIds) -> None:
    batch = pad(texts, np.arange(len(texts)))
    with torch.no_grad():
        found, expected = logits_unpadded(model, texts), model(batch.ids, batch.mask)
    assert found is not None
    assert found.dtype == torch.float64
    assert torch.allclose(found, expected.double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("maps", [1, 2])
@pytest.mark.parametrize("ending", [0, 2])
@pytest.mark.parametrize("longest", [1, 2, 4])
def test_ngrams(longest: int, ending: int, maps: int) -> None:
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        model = random_grams(generator, longest=longest, ending=ending, maps=maps)
        compare(model, texts_of(model.codes.shape[-1], seed))


@pytest.mark.parametrize("features", [(), ("before", "after", "pair", "triple"), ("around", "skip")])
def test_words_and_sums(features: tuple[str, ...]) -> None:
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        words, grams = random_words(generator, features=features), random_grams(generator)
        known = min(len(words.codes), grams.codes.shape[-1])
        for model in (words, Sum((words, grams)), Sum((words, grams), (0.5, 3.0))):
            compare(model, texts_of(known, seed))


def test_who_answers_by_other_rules_is_asked_himself() -> None:
    class Other(BagOfNgrams):
        def forward(self, ids, mask=None):
            return super().forward(ids, mask) + 1

    generator = torch.Generator().manual_seed(0)
    texts = texts_of(5, 0)
    assert logits_unpadded(Other(), texts) is None
    assert logits_unpadded(Sum((random_grams(generator), Other())), texts) is None
    assert logits_unpadded(random_words(generator, places=True), texts) is None


@pytest.mark.parametrize("count", [0, 1, 50, 5000])
def test_places_are_those_that_a_search_finds(count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    keys = torch.randint(1 << 62, (count,), generator=generator).unique()
    keys[: count // 2] = torch.arange(1, count // 2 + 1)
    keys = keys.unique()
    index = KeyIndex.of(keys)
    asked = torch.cat([keys, keys + 1, torch.randint(1 << 62, (300,), generator=generator), torch.arange(300)])
    assert np.array_equal(index.places(asked.numpy()), places_of(keys, asked).numpy())
    assert index.still_of(keys)
    assert not index.still_of(keys.clone())
    keys += 1
    assert not index.still_of(keys)


def test_an_index_follows_the_keys() -> None:
    generator = torch.Generator().manual_seed(1)
    model = random_grams(generator)
    texts = texts_of(model.codes.shape[-1], 1)
    compare(model, texts)
    compare(copy.deepcopy(model), texts)
    model.adopt(codes=model.codes, keys=model.keys[::2].clone())
    torch.nn.init.normal_(model.weight)
    compare(model, texts)
    torch.nn.init.normal_(model.bias)
    compare(model.double(), texts)
