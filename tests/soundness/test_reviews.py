"""Real reviews: random, greedy and gradient-guided substitutions never break a certified one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from sgbt.certify import TIERS, Specification, certify, exhaustive, in_float64, margin_bounds, rounding_slack
from sgbt.certify.oracle import combinations_of
from sgbt.core.errors import SgbtError
from sgbt.data import Split, TextDataset, load_dataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BiLSTM, TextClassifier, TextCNN
from sgbt.threats import SubstitutionIndex, Substitutions, SubstitutionTable
from sgbt.training import IBP, TrainingConfig, train


@cache
def reviews() -> tuple[TextDataset, SubstitutionTable]:
    try:
        return load_dataset("imdb"), SubstitutionTable.counter_fitted()
    except SgbtError as problem:
        pytest.skip(str(problem))


@cache
def classifier(kind: str = "cnn") -> TextClassifier:
    """Trained for certificates on a thousand real reviews, with vectors in which synonyms are close."""
    data, table = reviews()
    some = TextDataset("imdb", data.label_names, data.train.take(range(0, 20_000, 20)), data.dev[:100], data.test[:10])
    words = tuple(some.train.tokenised().types)
    generator = np.random.default_rng(0)
    place = {word: row for row, word in enumerate(words)}
    own = generator.normal(size=(len(words), 24)).astype(np.float32)
    near = [[place[other] for other in (word, *table.substitutes(word)) if other in place] for word in words]
    vectors = EmbeddingTable(words, np.stack([own[rows].mean(axis=0) for rows in near]))
    model: TextCNN | BiLSTM = BiLSTM(vectors, hidden=16, pooling="mean", trainable_embedding=True, dropout=0.0)
    if kind == "cnn":
        model = TextCNN(vectors, filters=24, kernel_sizes=(3,), pooling="mean", trainable_embedding=True, dropout=0.0)
    config = TrainingConfig(epochs=3, learning_rate=1e-2, max_length=80, patience=3)
    return train(model, some, objective=IBP(), substitutions=table, config=config).model


def broken_by(model: TextClassifier, found: Substitutions, label: int, *, seed: int, tries: int) -> bool:
    """Whether random, gradient-guided or greedy substitution changes the label of one text."""
    network, generator = model.model.eval(), torch.Generator().manual_seed(seed)
    ids, allowed = found.ids[0], found.allowed[0]
    counts = allowed.sum(dim=1)

    def flips(batch: Tensor) -> bool:
        return bool((network(batch).argmax(dim=1) != label).any())

    with torch.no_grad():
        drawn = (torch.rand(tries, len(ids), generator=generator) * counts).long()
        if flips(ids.expand(tries, -1, -1).gather(2, drawn.unsqueeze(2)).squeeze(2)):
            return True
    current = ids[:, 0].clone()
    for _ in range(3):  # move every word to where the gradient at the current text falls most
        vectors = network.embedding(current.unsqueeze(0)).detach().requires_grad_()
        logits = network.from_vectors(vectors, torch.ones(1, len(ids), dtype=torch.bool))[0]
        rival = logits.detach().clone()
        rival[label] = -torch.inf
        (logits[label] - logits[int(rival.argmax())]).backward()
        scores = torch.einsum("wcd,wd->wc", network.embedding(ids), vectors.grad[0]).masked_fill(~allowed, torch.inf)
        current = ids.gather(1, scores.argmin(dim=1, keepdim=True)).squeeze(1)
        if flips(current.unsqueeze(0)):
            return True
    with torch.no_grad():  # greedy: the best single replacement at each of some places, one after the other
        for place in torch.randperm(len(ids), generator=generator)[:25].tolist():
            variants = current.expand(int(counts[place]), -1).clone()
            variants[:, place] = ids[place, : int(counts[place])]
            logits = network(variants)
            if bool((logits.argmax(dim=1) != label).any()):
                return True
            others = logits.clone()
            others[:, label] = -torch.inf
            current = variants[int((logits[:, label] - others.amax(dim=1)).argmin())]
    return False


def certified_and_attacked(texts: Split, *, tries: int) -> tuple[int, int]:
    model, table = classifier(), reviews()[1]
    index = SubstitutionIndex.build(table, model.vocabulary)
    certified = fell = 0
    for proof in certify(model, texts):
        if proof.predicted != proof.label:
            continue
        words = model.tokenizer.words(texts.texts[proof.index])[: model.max_length]
        broken = broken_by(model, index.for_words([words]), proof.label, seed=proof.index, tries=tries)
        assert not (proof.certified and broken), f"review {proof.index}, certified by {proof.tier}, was broken"
        certified += proof.certified
        fell += broken
    return certified, fell


def test_no_certified_review_is_broken() -> None:
    certified, fell = certified_and_attacked(reviews()[0].test.take(range(0, 25_000, 125)), tries=64)
    assert certified >= 40
    assert fell >= 5, "the attacks are too weak to mean anything"


@pytest.mark.soak
def test_no_certified_review_of_thousands_is_broken() -> None:
    certified, fell = certified_and_attacked(reviews()[0].test.take(range(0, 25_000, 6)), tries=256)
    assert certified >= 800
    assert fell >= 100


def enumerate_sentences(kind: str, number: int) -> None:
    """No variant of a real sentence lies below any tier's bound, nor, as the model decides, below it by the slack."""
    data, table = reviews()
    model = classifier(kind)
    precise, slack = in_float64(model.model), rounding_slack(model)
    index = SubstitutionIndex.build(table, model.vocabulary)
    sentences = (part for text in data.test.texts for part in text.split("."))
    tried = proven = 0
    for words in map(model.tokenizer.words, sentences):
        if not 4 <= len(words) <= 12:
            continue
        found = index.for_words([words])
        label = precise(found.original, found.mask).argmax(dim=1)
        spec = Specification.of(found, found.mask, label, classes=2)
        if not 2 <= combinations_of(spec, 0) <= 2000:
            continue
        exact, deployed = exhaustive(precise, spec, 0), exhaustive(model.deciding.eval(), spec, 0)
        assert abs(deployed.worst - exact.worst) < slack
        bounds = [margin_bounds(tier, precise, spec)[0] for tier in TIERS]
        assert all(bool((bound <= exact.margins + 1e-9).all()) for bound in bounds), words
        proven += max(float(bound.min()) for bound in bounds) > slack
        tried += 1
        if tried == number:
            break
    assert tried == number
    assert proven > number / 5


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_no_variant_of_a_real_sentence_goes_below_any_bound(kind: str) -> None:
    enumerate_sentences(kind, 25)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_no_variant_of_hundreds_of_real_sentences_goes_below_any_bound(kind: str) -> None:
    enumerate_sentences(kind, 500)
