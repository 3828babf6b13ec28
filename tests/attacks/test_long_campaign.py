"""Long campaigns on real reviews: certified reviews are never broken, and the engine never leaves the model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sgbt.attacks import attack
from sgbt.attacks.queries.classifier import ClassifierEngine
from sgbt.attacks.queries.engine import Query, WordSwaps, query_engine
from sgbt.attacks.space import SearchSpace
from sgbt.certify import certify, check_consistent
from sgbt.core.errors import ResourceError
from sgbt.data import TextDataset, load_dataset
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.models import BiLSTM, TextClassifier, TextCNN
from sgbt.threats import SubstitutionTable, smoothed_vectors
from sgbt.training import IBP, Objective, Standard, TrainingConfig, train

KINDS = {"cnn": TextCNN, "bilstm": BiLSTM}


@cache
def materials() -> tuple[TextDataset, EmbeddingTable, SubstitutionTable]:
    try:
        whole, vectors = load_dataset("imdb"), load_embeddings("glove")
        table = SubstitutionTable.counter_fitted()
    except ResourceError as problem:
        pytest.skip(str(problem))
    part = TextDataset(whole.name, whole.label_names, whole.train[:4000], whole.dev[:500], whole.test)
    return part, vectors, table


def trained_on_reviews(kind: str, objective: Objective) -> tuple[TextClassifier, TextDataset]:
    part, vectors, table = materials()
    config = TrainingConfig(epochs=4, max_length=128)
    return train(KINDS[kind](vectors), part, objective=objective, substitutions=table, config=config).model, part


@cache
def trained_to_be_certified() -> tuple[TextClassifier, TextDataset]:
    """Neither broken everywhere nor a constant: over frozen vectors, training on intervals would end in one class."""
    part, vectors, table = materials()
    close = smoothed_vectors(vectors, table).condensed(64, spread=0.16)
    model = TextCNN(close, filters=64, kernel_sizes=(3,), pooling="mean", dropout=0.0, trainable_embedding=True)
    config = TrainingConfig(epochs=3, batch_size=32, learning_rate=3e-3, weight_decay=0.0, max_length=128)
    run = train(model, part, objective=IBP(kappa=1.0, ramp_epochs=1.0), substitutions=table, config=config)
    return run.model, part


@pytest.mark.soak
@pytest.mark.parametrize("method", ["pwws", "genetic:openattack", "pso:openattack"])
def test_thousands_of_reviews_and_no_certified_one_is_broken(method: str) -> None:
    classifier, reviews = trained_to_be_certified()
    texts = reviews.test.take(range(0, 25_000, 12))
    assert classifier.table is not None
    proofs = certify(classifier, texts)
    results = attack(classifier, texts, classifier.table, method=method, workers=2)
    assert sum(proof.certified for proof in proofs) >= 50
    assert sum(row.status == "success" for row in results) >= 50, "an attack that never succeeds shows nothing"
    check_consistent(proofs, results)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_stays_with_the_model_over_hundreds_of_reviews(kind: str) -> None:
    classifier, reviews = trained_on_reviews(kind, Standard())
    assert classifier.table is not None
    network = query_engine(classifier.model.eval())
    rng = np.random.default_rng(0)
    worst = 0.0
    for example in reviews.test.take(range(0, 25_000, 100)):
        words = classifier.tokenizer.words(example.text)
        space = SearchSpace.of(words, classifier.table, length=classifier.max_length)
        engine = ClassifierEngine(classifier, space, network)
        changed = rng.random((8, len(space))) < rng.random((8, 1))
        states = (rng.integers(0, space.substitutes + 1, size=changed.shape) * changed).astype(np.int32)
        chosen = np.sort(rng.choice(space.replaceable, size=4))
        swaps = WordSwaps(np.zeros(4, np.int64), chosen, rng.integers(1, space.substitutes[chosen] + 1))
        found = engine.answer(Query(states, swaps))
        texts = [
            " ".join(options[number] for options, number in zip(space.options, state, strict=True))
            for state in (*states, *swaps.applied(states))
        ]
        own = classifier.predict(texts).probabilities
        worst = max(worst, float(np.abs(np.concatenate([found.texts, found.swaps]) - own).max()))
    assert worst < 1e-5
