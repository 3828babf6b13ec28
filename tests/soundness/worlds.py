"""Random classifiers of every kind over a small vocabulary of words, with a table and texts: what a user could have."""

from __future__ import annotations

import random

import torch
from torch import nn

from sgbt.models import AnyModel, BagOfNgrams, BagOfWords, BiLSTM, Sum, TextClassifier, TextCNN, WordEmbedding
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, MAP_SHIFT
from sgbt.models.bag_of_words.features import FAMILIES, keys_at
from sgbt.threats import SubstitutionTable, Vocabulary

NAMES = tuple(first + second for first in "bdfgklmnprst" for second in ("a", "o", "um"))
"""The words there are; the last few are in no vocabulary."""
KNOWN = NAMES[:28]
ACTIVATIONS = ("tanh", "sigmoid", "softplus", "relu", "gelu")
KINDS = (
    *(f"cnn {pooling} {activation}" for pooling in ("max", "mean") for activation in ACTIVATIONS),
    "cnn max projection",
    "cnn mean projection",
    "cnn max codes",
    "cnn mean codes",
    "bilstm last",
    "bilstm mean",
    "bilstm max",
    "bilstm last projection",
    "bilstm max codes",
    "bilstm mean codes",
    "linear",
    "linear features",
    "linear places",
    "grams",
    "grams ending",
    "grams maps",
    "two cnn codes",
    "two cnn grams",
    "two bilstm linear",
    "two bilstm bilstm",
    "sum cnn grams linear",
    "sum cnn cnn",
)
"""Every kind of model that a folder can hold, with its poolings, activations, projections and codes."""


def classifier_of(kind: str, seed: int, *, max_length: int = 2000) -> TextClassifier:
    """A random classifier of that kind, in float64 at every third seed, with a random table."""
    torch.manual_seed(seed)
    model = _model(kind.split(), random.Random(f"{kind} {seed}"), 2 + seed % 3)
    if seed % 3 == 2:
        model = model.double()
    labels = tuple(f"label {number}" for number in range(2 + seed % 3))
    return TextClassifier(model.eval(), Vocabulary(KNOWN), labels, table_of(seed), max_length=max_length)


def table_of(seed: int, *, most: int = 3) -> SubstitutionTable:
    """Up to `most` substitutes for some of the words; some are in no vocabulary."""
    drawn = random.Random(seed)
    chosen = drawn.sample(NAMES, drawn.randint(3, len(NAMES)))
    entries = {}
    for word in chosen:
        others = [other for other in NAMES if other != word]
        entries[word] = tuple(drawn.sample(others, drawn.randint(1, most)))
    return SubstitutionTable(entries, "random")


def text_of(drawn: random.Random, length: int, *, table: SubstitutionTable, replaceable: float) -> str:
    """A text of so many words, of which about a share can be replaced."""
    can = sorted(table.entries)
    cannot = [word for word in NAMES if word not in table.entries] or can
    return " ".join(drawn.choice(can if drawn.random() < replaceable else cannot) for _ in range(length))


def _model(named: list[str], drawn: random.Random, classes: int) -> AnyModel:
    kind, *options = named
    if kind == "two":
        first, second = options
        words = _model([first, "mean"], drawn, classes)
        beside = {"codes": ["cnn", "max", "codes"], "bilstm": ["bilstm", "last", "codes"]}.get(second, [second])
        other = _model(beside, drawn, classes)
        assert isinstance(words, TextCNN | BiLSTM)
        assert not isinstance(other, Sum)
        return Sum((words, other))
    if kind == "sum":
        parts = [_model([each, "max"] if each in ("cnn", "bilstm") else [each], drawn, classes) for each in options]
        return Sum(parts, [drawn.choice([0.0, 0.3, 1.0, 7.0]) for _ in parts[1:]] + [0.5])
    if kind == "linear":
        return _linear(options, drawn, classes)
    if kind == "grams":
        return _grams(options, drawn, classes)
    model: TextCNN | BiLSTM
    embedding = _embedding(options, drawn)
    if kind == "cnn":
        activation = next((name for name in ACTIVATIONS if name in options), "tanh")
        model = TextCNN(
            embedding,
            classes=classes,
            kernel_sizes=drawn.choice([(1,), (2,), (3,), (2, 3), (1, 2, 4)]),
            filters=4,
            activation=activation,
            pooling=options[0],
            projection=3 if "projection" in options else None,
        )
    else:
        model = BiLSTM(
            embedding,
            classes=classes,
            hidden=drawn.choice([3, 8]),
            pooling=options[0],
            projection=3 if "projection" in options else None,
        )
    gain = drawn.choice([1.0, 2.0, 3.0, 5.0])
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embedding.weight" not in name:
                weight.mul_(gain)
    return model


def _embedding(options: list[str], drawn: random.Random) -> WordEmbedding:
    rows = len(KNOWN) + 2
    codes = None
    if "codes" in options:
        codes = torch.tensor([0, 1, *(2 + drawn.randrange(10) for _ in KNOWN)])
        rows = 12
    spread = drawn.choice([0.3, 1.0])
    return WordEmbedding(torch.randn(rows, 4) * spread, projection=3 if "projection" in options else None, codes=codes)


def _linear(options: list[str], drawn: random.Random, classes: int) -> BagOfWords:
    families = FAMILIES if "features" in options else ()
    model = BagOfWords(classes=classes, features=families, places="places" in options)
    codes = torch.tensor([0, 1, *(2 + drawn.randrange(4) for _ in KNOWN)])
    keys = torch.zeros(0, dtype=torch.int64)
    if families:
        words = torch.randint(1, len(codes), (300,))
        near = [torch.randint(0, 6, (300,)) for _ in range(2)]
        keys = keys_at(families, words, codes[words], *near).flatten().unique()
    model.adopt(codes=codes, keys=keys)
    with torch.no_grad():
        for weight in model.parameters():
            nn.init.normal_(weight)
        model.weight[0] = 0
    return model


def _grams(options: list[str], drawn: random.Random, classes: int) -> BagOfNgrams:
    maps = 2 if "maps" in options else 1
    longest, ending = drawn.randint(1, 4), 3 if "ending" in options else 0
    codes = torch.tensor([[0, 1, *(2 + drawn.randrange(4) for _ in KNOWN)] for _ in range(maps)])
    keys = set()
    for _ in range(400):
        key = 0
        for _ in range(drawn.randint(1, longest)):
            key = key << BITS | drawn.randint(1, 5)
        keys.add(key | drawn.choice([0, AT_THE_END if ending else 0]) | drawn.randrange(maps) << MAP_SHIFT)
    more = (5.0,) if maps > 1 else ()
    model = BagOfNgrams(classes=classes, longest=longest, ending=ending, more_resolutions=more)
    model.adopt(codes=codes if maps > 1 else codes[0], keys=torch.tensor(sorted(keys)))
    with torch.no_grad():
        nn.init.normal_(model.weight)
        nn.init.normal_(model.bias)
    return model
