"""The query engine of the bag of n-grams: the model's own logits, and the same attacks, text by text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.attacks.world import World, network

from sgbt.attacks import attack, query_engine
from sgbt.attacks.queries.bag_of_ngrams import BagOfNgramsEngine
from sgbt.attacks.queries.engine import IdQuery, PlainEngine, WordSwaps
from sgbt.models import BagOfNgrams, Sum, TextClassifier
from sgbt.models.bag_of_ngrams.model import MAP_SHIFT, distinct_runs, last_words

CONFIGS = {
    "one map": {},
    "pairs": {"longest": 2},
    "two maps": {"more_resolutions": (0.3,)},
    "last words": {"ending": 4},
    "two maps, last words": {"more_resolutions": (0.3,), "ending": 3, "longest": 3},
    "all words are last": {"ending": 50},
}


def bag(world: World, options: dict[str, object], *, words_per_code: int = 3) -> BagOfNgrams:
    """Weights for all n-grams of some texts; few words share a code, so most substitutions change n-grams."""
    model = BagOfNgrams(**options)
    ids = torch.arange(len(world.vectors))
    maps = [torch.where(ids > 1, 1 + ids // words_per_code, ids), torch.where(ids > 1, 2 + ids // 7, ids)]
    maps = maps[: len(model.config.resolutions)]
    texts, _ = world.texts(80, length=14, seed=3)
    rows = torch.tensor(np.array([world.vocabulary.encode(text.split()) for text in texts]))
    late = last_words(torch.ones_like(rows, dtype=torch.bool), model.config.ending)
    keys = [distinct_runs(own[rows], model.config.longest, late)[1] | at << MAP_SHIFT for at, own in enumerate(maps)]
    model.adopt(codes=torch.stack(maps) if len(maps) > 1 else maps[0], keys=torch.cat(keys).unique())
    weights = torch.randn(model.weight.shape, generator=torch.Generator().manual_seed(0))
    weights[torch.rand(len(weights), generator=torch.Generator().manual_seed(1)) < 0.2] = 0
    model.weight.data, model.bias.data = weights, torch.tensor([0.1, -0.2])
    return model


def random_query(rng: np.random.Generator, model: BagOfNgrams, length: int, *, few: int) -> tuple[IdQuery, np.ndarray]:
    """Texts of `few` different words, so that n-grams stand in them again and again, and changes of them."""
    ids = rng.integers(1, few + 1, size=(length, 5))
    ids[:, -1] = 1
    states = rng.integers(0, 5, size=(6, length)) * (rng.random((6, length)) < 0.3)
    owners = np.sort(rng.integers(0, 6, size=4 * length))
    positions, choices = rng.integers(0, max(length, 1), size=4 * length), rng.integers(-1, 4, size=4 * length)
    swaps = WordSwaps(owners, positions, choices)
    return IdQuery(states.astype(np.int32), ids[np.arange(length), states], swaps, ids[positions, choices]), ids


@pytest.mark.parametrize("few", [2, 5, 60])
@pytest.mark.parametrize("options", CONFIGS.values(), ids=CONFIGS)
def test_logits_are_the_models_own(options: dict[str, object], few: int, world: World) -> None:
    model = bag(world, options)
    engine, rng = query_engine(model), np.random.default_rng(few)
    assert isinstance(engine, BagOfNgramsEngine)
    for length in (0, 1, 2, 3, 4, 9, 40):
        query, ids = random_query(rng, model, length, few=few)
        (found,) = engine.answers([engine.open(ids, length)], [query])
        with torch.no_grad():
            texts, changed = (model(torch.from_numpy(each)).numpy() for each in (query.ids, query.changed()))
        np.testing.assert_allclose(found.texts, texts, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.swaps, changed, rtol=0, atol=1e-9)


def test_a_sum_adds_the_engines_of_its_parts(world: World) -> None:
    model = Sum([network(world, "cnn").double(), bag(world, {})], [0.25, 3.0]).eval()
    engine = query_engine(model)
    query, ids = random_query(np.random.default_rng(1), model.parts[1], 9, few=60)
    (found,) = engine.answers([engine.open(ids, 9)], [query])
    with torch.no_grad():
        np.testing.assert_allclose(found.swaps, model(torch.from_numpy(query.changed())).numpy(), rtol=0, atol=1e-9)


def test_a_model_without_weights_gives_its_bias(world: World) -> None:
    model = BagOfNgrams()
    model.adopt(codes=torch.arange(len(world.vectors)), keys=torch.zeros(0, dtype=torch.int64))
    engine = query_engine(model)
    query, ids = random_query(np.random.default_rng(0), model, 6, few=20)
    (found,) = engine.answers([engine.open(ids, 6)], [query])
    assert not found.texts.any()
    assert not found.swaps.any()


def test_what_is_remembered_changes_no_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit: asked again, asked after all was forgotten, and asked by itself."""
    model = bag(world, {})
    engine = query_engine(model)
    query, ids = random_query(np.random.default_rng(5), model, 12, few=40)
    opened = engine.open(ids, 12)
    (first,) = engine.answers([opened], [query])
    (again,) = engine.answers([opened], [query])
    monkeypatch.setattr("sgbt.attacks.queries.bag_of_ngrams.MOST", 3)
    (forgotten,) = engine.answers([opened], [query])
    (alone,) = engine.answers([engine.open(ids, 12)], [query])
    for other in (again, forgotten, alone):
        np.testing.assert_array_equal(first.texts, other.texts)
        np.testing.assert_array_equal(first.swaps, other.swaps)


@pytest.mark.parametrize("method", ["pwws", "greedy", "beam", "genetic:openattack", "pso:openattack", "pso:quick"])
def test_attacks_find_the_same_with_the_engine_and_without(
    method: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = TextClassifier(bag(world, {"ending": 3}), world.vocabulary, ("no", "yes"), world.table)
    texts, _ = world.texts(12, length=10)
    with_engine = attack(classifier, texts, world.table, method=method)
    monkeypatch.setattr("sgbt.attacks.victim.query_engine", PlainEngine)
    plain = attack(classifier, texts, world.table, method=method)
    assert [(row.perturbed, row.queries) for row in with_engine] == [(row.perturbed, row.queries) for row in plain]
    assert "success" in {row.status for row in with_engine}
