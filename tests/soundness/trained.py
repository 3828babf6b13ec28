"""Tiny classifiers trained on made-up text in a second or two, for tests that need weights which mean something."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import torch

from sgbt.data import Split, TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import Bag, BagOfNgrams, BagOfWords, BiLSTM, TextClassifier, TextCNN
from sgbt.threats import SubstitutionTable
from sgbt.training import (
    IBP,
    SEM,
    Certified,
    ClusterMeans,
    Objective,
    Residual,
    Standard,
    TrainingConfig,
    TrainingMethod,
    train,
)

CLASSES = 3
GROUP = 3
"""Words come in groups of this many that stand in for one another."""


def word(kind: str, number: int) -> str:
    """A made-up word; kinds are the classes' names and filler."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return f"{kind}{letters[number // 26]}{letters[number % 26]}"


KINDS = ("good", "bad", "odd", "filler")
WORDS = {kind: [word(kind, number) for number in range(12)] for kind in KINDS}
HIDDEN = "hidden"
"""A word that no vocabulary lists, and that the table replaces all the same."""


@cache
def table() -> SubstitutionTable:
    entries: dict[str, tuple[str, ...]] = {}
    for kind in KINDS[:3]:
        words = WORDS[kind]
        for place, each in enumerate(words):
            start = place - place % GROUP
            entries[each] = tuple(other for other in words[start : start + GROUP] if other != each)
    entries[WORDS["good"][0]] += (WORDS["filler"][0],)
    entries[WORDS["filler"][1]] = (WORDS["bad"][0], "unlisted")
    entries[HIDDEN] = (WORDS["good"][3], WORDS["bad"][4])
    return SubstitutionTable(entries, "made up")


def sentences(count: int, seed: int, *, classes: int = 2, most: int = 7) -> Split:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, count)
    texts = []
    for label in labels:
        length = int(generator.integers(3, most + 1))
        words = [
            WORDS[KINDS[label] if generator.random() < 0.55 else KINDS[int(generator.integers(0, 4))]][
                int(generator.integers(0, 12))
            ]
            for _ in range(length)
        ]
        texts.append(" ".join(words))
    return Split("test", tuple(texts), labels)


@cache
def dataset(classes: int = 2) -> TextDataset:
    names = KINDS[:classes]
    return TextDataset(
        "made up",
        names,
        sentences(400, 1, classes=classes),
        sentences(60, 2, classes=classes),
        sentences(120, 3, classes=classes),
    )


@cache
def vectors() -> EmbeddingTable:
    words = tuple(each for kind in KINDS for each in WORDS[kind])
    values = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    centres = np.random.default_rng(1).normal(size=(len(words), 8)).astype(np.float32)
    groups = np.arange(len(words)) // GROUP
    return EmbeddingTable(words, 0.3 * values + centres[groups])


@cache
def trained(kind: str, objective: str = "standard", pooling: str = "", classes: int = 2) -> TextClassifier:
    """A classifier of some kind; every call with the same options gives the same one."""
    torch.manual_seed(0)
    if kind == "linear":
        model: TextCNN | BiLSTM | Bag = BagOfWords(classes=classes, minimum_count=1)
    elif kind == "grams":
        model = BagOfNgrams(classes=classes, minimum_count=1, resolution=20.0)
    elif kind == "cnn":
        model = TextCNN(
            vectors(), classes=classes, filters=6, kernel_sizes=(2, 3), pooling=pooling or "max", dropout=0.0
        )
    else:
        model = BiLSTM(vectors(), classes=classes, hidden=6, pooling=pooling or "last", dropout=0.0)
    aims: dict[str, Objective | TrainingMethod] = {
        "standard": Standard(),
        "ibp": IBP(),
        "sem": SEM(),
        "two-channel": TrainingMethod(Certified(), ClusterMeans(), recipe=Residual("grams")),
        "beside-words": TrainingMethod(Certified(), recipe=Residual("linear", {"features": (), "places": True})),
    }
    config = TrainingConfig(epochs=6, batch_size=32, learning_rate=1e-2, max_length=8, patience=6)
    run = train(model, dataset(classes), objective=aims[objective], substitutions=table(), seed=0, config=config)
    return run.model


def written(path: Path, header: tuple[str, str] = ("text", "label"), more: Iterable[tuple[str, str]] = ()) -> Path:
    """The test texts of `dataset()` with the names of their labels, as CSV; then the rows of `more`."""
    split, names = dataset().test, dataset().label_names
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(header)
        rows.writerows((text, names[label]) for text, label in zip(split.texts, split.labels, strict=True))
        rows.writerows(more)
    return path
