"""Random models of every kind over the words of `test_edits`, for certificates against threats."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import torch

from sgbt.models import (
    AnyModel,
    BagOfNgrams,
    BagOfWords,
    BiLSTM,
    BiLSTMConfig,
    CNNConfig,
    TextClassifier,
    TextCNN,
    WordEmbedding,
)
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, MAP_SHIFT
from sgbt.models.bag_of_words.features import FAMILIES, keys_at
from sgbt.models.cnn import ACTIVATIONS
from sgbt.models.sum import Sum
from sgbt.threats import Vocabulary

WORDS = ("a", "ab", "b", "ba", "q", "aa", "bb", "-", ".", "abb", "'", "a5")
LISTED = 8
IDS = LISTED + 2
SCALES = (1.0, 1.0, 1e-3, 1e12)
"""Of weights: some so large that rounding shows."""


def _filled(model: AnyModel, drawn: np.random.Generator, scale: float) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.from_numpy(drawn.normal(size=weight.shape) * scale))


def _codes(drawn: np.random.Generator) -> np.ndarray:
    return np.concatenate([[0, 1], drawn.integers(1, int(drawn.integers(3, 9)), size=LISTED)])


def bag_of_words(drawn: np.random.Generator, classes: int, scale: float) -> BagOfWords:
    families = tuple(str(name) for name in drawn.choice(FAMILIES, size=int(drawn.integers(4)), replace=False))
    model = BagOfWords(classes=classes, features=families, places=bool(drawn.integers(2)), ties=())
    codes = torch.from_numpy(_codes(drawn))
    ids, sides = torch.arange(1, IDS), torch.arange(int(codes.max()) + 1)
    words, before, after = torch.cartesian_prod(ids, sides, sides).T
    keys = keys_at(families, words, codes[words], before, after).unique() if families else torch.zeros(0)
    keys = keys.to(torch.int64)[torch.from_numpy(drawn.random(len(keys)) < 0.5)]
    model.adopt(codes=codes, keys=keys)
    _filled(model, drawn, scale)
    with torch.no_grad():
        model.weight[0] = 0.0
        if model.places is not None:
            for weight in model.places.parameters():
                weight.copy_(torch.from_numpy(drawn.normal(size=weight.shape)))
    return model


def bag_of_ngrams(drawn: np.random.Generator, classes: int, scale: float) -> BagOfNgrams:
    longest, ending = int(drawn.integers(1, 5)), int(drawn.integers(4))
    resolutions = (2.0,) if drawn.integers(2) else ()
    model = BagOfNgrams(classes=classes, longest=longest, ending=ending, more_resolutions=resolutions)
    maps = np.stack([_codes(drawn) for _ in range(1 + len(resolutions))])
    marks = (0, AT_THE_END) if ending else (0,)
    keys = []
    for number, codes in enumerate(maps):
        for length in range(1, longest + 1):
            share = min(1.0, 40 / max(codes) ** length)
            runs = itertools.product(range(1, max(codes) + 1), repeat=length)
            packed = (sum(code << BITS * place for place, code in enumerate(reversed(run))) for run in runs)
            keys += [key | mark | number << MAP_SHIFT for key in packed for mark in marks if drawn.random() < share]
    codes = torch.from_numpy(maps if resolutions else maps[0])
    model.adopt(codes=codes, keys=torch.tensor(sorted(keys), dtype=torch.int64))
    _filled(model, drawn, scale)
    return model


def _words(drawn: np.random.Generator, trained: bool) -> WordEmbedding:
    codes = torch.from_numpy(_codes(drawn)) if trained else None
    return WordEmbedding(
        torch.from_numpy(drawn.normal(size=(IDS, 4))).float(), projection=3 if trained else None, codes=codes
    )


def cnn(drawn: np.random.Generator, classes: int, scale: float) -> TextCNN:
    sizes = tuple(int(size) for size in drawn.choice([1, 2, 3, 4], size=2, replace=False))
    activation, pooling = str(drawn.choice(sorted(ACTIVATIONS))), str(drawn.choice(["max", "mean"]))
    config = CNNConfig(classes=classes, kernel_sizes=sizes, filters=4, activation=activation, pooling=pooling)
    model = TextCNN(_words(drawn, bool(drawn.integers(2))), config)
    _filled(model, drawn, min(scale, 10.0))
    return model.double() if drawn.integers(2) else model


def bilstm(drawn: np.random.Generator, classes: int, scale: float) -> BiLSTM:
    pooling = str(drawn.choice(["last", "mean", "max"]))
    model = BiLSTM(_words(drawn, bool(drawn.integers(2))), BiLSTMConfig(classes=classes, hidden=3, pooling=pooling))
    _filled(model, drawn, min(scale, 10.0))
    return model.double()


def weighted_sum(drawn: np.random.Generator, classes: int, scale: float) -> Sum:
    parts = [make(drawn, classes, scale) for make in (bag_of_words, bag_of_ngrams, cnn, bilstm)]
    return Sum(parts, (0.5, 2.0, 1.0, 0.3))


MAKERS: dict[str, Callable[[np.random.Generator, int, float], AnyModel]] = {
    "bag of words": bag_of_words,
    "bag of n-grams": bag_of_ngrams,
    "cnn": cnn,
    "bilstm": bilstm,
    "sum": weighted_sum,
}


def drawn_classifier(kind: str, seed: int, *, max_length: int = 64, scale: float | None = None) -> TextClassifier:
    """A classifier of random words, weights, options and two or three classes."""
    drawn = np.random.default_rng(seed)
    words = tuple(sorted(str(word) for word in drawn.choice(WORDS, size=LISTED, replace=False)))
    classes = 2 + int(drawn.integers(2))
    model = MAKERS[kind](drawn, classes, SCALES[int(drawn.integers(4))] if scale is None else scale).eval()
    return TextClassifier(model, Vocabulary(words), ("x", "y", "z")[:classes], None, max_length)
