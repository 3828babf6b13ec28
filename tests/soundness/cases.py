"""Small models and questions for exhaustive checks: all that a certificate may meet, at a size that enumerates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from sgbt.certify import Specification
from sgbt.models import (
    AnyModel,
    BagOfNgrams,
    BagOfWords,
    BiLSTM,
    BiLSTMConfig,
    CNNConfig,
    Sum,
    TextCNN,
    WordEmbedding,
)
from sgbt.models.bag_of_ngrams.model import BITS
from sgbt.threats import Substitutions

VOCABULARY = 30
ACTIVATIONS = ("tanh", "sigmoid", "softplus", "relu", "gelu")


def random_embedding(seed: int, *, spread: float = 1.0, codes: bool = False) -> WordEmbedding:
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(VOCABULARY, 6, generator=generator) * spread
    mapping = None
    if codes:  # neighbours share a code; padding and unknown keep theirs
        mapping = torch.arange(VOCABULARY)
        mapping[2:] = mapping[2:] // 2 + 1
    return WordEmbedding(matrix, codes=mapping)


def random_cnn(seed: int, *, classes: int, pooling: str, activation: str = "tanh", spread: float = 1.0) -> TextCNN:
    config = CNNConfig(classes=classes, kernel_sizes=(2, 3), filters=5, activation=activation, pooling=pooling)
    torch.manual_seed(seed)
    return TextCNN(random_embedding(seed, spread=spread), config).eval()


def random_bilstm(seed: int, *, classes: int, pooling: str, spread: float = 1.0, gain: float = 1.0) -> BiLSTM:
    torch.manual_seed(seed)
    model = BiLSTM(random_embedding(seed, spread=spread), BiLSTMConfig(classes=classes, hidden=5, pooling=pooling))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(gain)
    return model.eval()


def random_two_channel(seed: int, *, classes: int) -> Sum:
    torch.manual_seed(seed)
    words = random_cnn(seed, classes=classes, pooling="mean")
    return Sum((words, BiLSTM(random_embedding(seed, codes=True), BiLSTMConfig(classes=classes, hidden=4)))).eval()


def random_grams(seed: int, *, classes: int) -> BagOfNgrams:
    """Weights for a third of all runs of up to three of six codes."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.cat([torch.tensor([0, 1]), torch.randint(2, 7, (VOCABULARY - 2,), generator=generator)])
    runs = [run for length in (1, 2, 3) for run in itertools.product(range(1, 7), repeat=length)]
    keys = torch.tensor([sum(code << BITS * place for place, code in enumerate(reversed(run))) for run in runs])
    model = BagOfNgrams(classes=classes, longest=3)
    model.adopt(codes=codes, keys=keys[torch.rand(len(keys), generator=generator) < 0.35].sort().values)
    with torch.no_grad():
        model.weight.copy_(torch.randn(model.weight.shape, generator=generator))
    return model.eval()


def random_words(seed: int, *, classes: int) -> BagOfWords:
    """A weight for every word, and places that count more and less."""
    generator = torch.Generator().manual_seed(seed)
    model = BagOfWords(classes=classes, features=(), places=True)
    codes = torch.ones(VOCABULARY, dtype=torch.int64)
    codes[0] = 0
    model.adopt(codes=codes, keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return model.eval()


def all_models(seed: int) -> Iterator[tuple[str, AnyModel]]:
    """One of every kind, with classes, activation and size of weights varied by the seed."""
    classes, spread, gain = 2 + seed % 3, (0.3, 1.0, 3.0)[seed % 3], (1.0, 2.0, 5.0)[seed // 3 % 3]
    activation = ACTIVATIONS[seed % 5]
    for pooling in ("max", "mean"):
        yield f"cnn-{pooling}", random_cnn(seed, classes=classes, pooling=pooling, activation=activation, spread=spread)
    for pooling in ("last", "mean", "max"):
        yield f"bilstm-{pooling}", random_bilstm(seed, classes=classes, pooling=pooling, spread=spread, gain=gain)
    yield "two-channel", random_two_channel(seed, classes=classes)
    yield (
        "words and grams",
        Sum((random_cnn(seed, classes=classes, pooling="mean"), random_grams(seed, classes=classes))).eval(),
    )
    yield (
        "words beside words",
        Sum((random_bilstm(seed, classes=classes, pooling="mean"), random_words(seed, classes=classes))).eval(),
    )
    parts = (random_words(seed, classes=classes), random_grams(seed, classes=classes))
    networks = (make(seed, classes=classes, pooling="mean") for make in (random_cnn, random_bilstm))
    weights = (0.3, 1.0, 2.5, 0.0) if seed % 2 else (1.0, 0.7, 0.0, 4.0)
    yield "weighted sum", Sum((*parts, *networks), weights).eval()
    coded = random_embedding(seed, codes=True)
    yield "coded cnn", TextCNN(coded, CNNConfig(classes=classes, kernel_sizes=(2, 3), filters=5)).eval()
    yield "coded bilstm", BiLSTM(coded, BiLSTMConfig(classes=classes, hidden=5)).eval()
    yield "grams", random_grams(seed, classes=classes)


def random_question(
    seed: int, *, classes: int, texts: int = 6, words: int = 5, choices: int = 3, budget: int | None = None
) -> Specification:
    """Texts of every length from none to `words`, with unknown words, and junk in the padding that must not count.

    Slopes are fitted to nothing, to the question itself, or to other substitutes of the same texts, by the seed.
    """
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, words + 1, (texts,), generator=generator)
    ids = torch.randint(1, VOCABULARY, (texts, words, choices), generator=generator)
    allowed = torch.rand(texts, words, choices, generator=generator) < 0.5
    allowed[..., 0] = True
    mask = torch.arange(words) < lengths.unsqueeze(1)
    labels = torch.randint(0, classes, (texts,), generator=generator)
    others = torch.randint(1, VOCABULARY, (texts, words, choices), generator=generator)
    others[..., 0] = ids[..., 0]
    other = Specification.of(Substitutions(others, torch.ones_like(allowed)), mask, labels, classes=classes)
    reference: Specification | Literal["itself"] | None = ("itself", other, None)[seed % 3]
    return Specification.of(
        Substitutions(ids, allowed), mask, labels, classes=classes, budget=budget, reference=reference
    )


def with_allowed(spec: Specification, allowed: Tensor) -> Specification:
    """The same texts with fewer substitutes, and slopes fitted to the same boxes as before."""
    reference = replace(spec, budget=None, reference=None) if spec.reference == "itself" else spec.reference
    return replace(spec, allowed=allowed, reference=reference)


def classes_of(model: AnyModel) -> int:
    return classes_of(model.parts[0]) if isinstance(model, Sum) else model.config.classes
