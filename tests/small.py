"""A small world to train in: a dozen words, a table, models of a few units, and texts whose label a word decides."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sgbt.data import Split, TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfWords, BiLSTM, Sum, TextCNN, WordEmbedding
from sgbt.threats import SubstitutionIndex, Substitutions, SubstitutionTable, Vocabulary
from sgbt.threats.vocabulary import PADDING
from sgbt.training import Certified, Recipe, Run, ScaledClusterMeans, TiedWords, TrainingConfig, train
from sgbt.training.loop.steps import Step

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
PLAIN = ("the", "film", "movie", "was", "a", "plot", "and", "very", "with", "actor")
WORDS = GOOD + BAD + PLAIN
TABLE = SubstitutionTable(
    {
        "good": ("great", "fine"),
        "great": ("good", "lovely"),
        "bad": ("awful", "poor", "dull"),
        "awful": ("bad",),
        "film": ("movie",),
        "movie": ("film", "plot"),
        "very": ("a",),
    },
    "small",
)
VOCABULARY = Vocabulary(WORDS)
QUICK = TrainingConfig(
    epochs=2, batch_size=8, learning_rate=0.01, max_length=16, minimum_count=1, checkpoint_seconds=1e9
)


def vectors(width: int = 6, seed: int = 0) -> EmbeddingTable:
    return EmbeddingTable(
        WORDS, np.random.default_rng(seed).standard_normal((len(WORDS), width)).astype(np.float32), "small vectors"
    )


def matrix(rows: int, width: int = 6, seed: int = 0) -> Tensor:
    result = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    result[0] = 0
    return result


def model_of(kind: str, *, seed: int = 0, dtype: torch.dtype = torch.float32, **options: Any) -> TextCNN | BiLSTM:
    """A model over `VOCABULARY` with weights large enough to matter; `codes` maps ids as SEM does."""
    codes = options.pop("codes", None)
    rows = len(VOCABULARY) if codes is None else int(codes.max()) + 1
    words = WordEmbedding(
        matrix(rows, seed=seed),
        trainable=options.get("trainable_embedding", False),
        projection=options.get("projection"),
        codes=codes,
    )
    torch.manual_seed(seed)
    sizes = {"cnn": {"filters": 5, "kernel_sizes": (1, 2, 3)}, "bilstm": {"hidden": 4}}[kind]
    model = {"cnn": TextCNN, "bilstm": BiLSTM}[kind](words, **({"dropout": 0.0} | sizes | options))
    for name, parameter in model.named_parameters():
        if name != "embedding.weight":
            nn.init.uniform_(parameter, -0.8, 0.8)
    return model.to(dtype).eval()


def two_channel(kind: str, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> Sum:
    codes = torch.tensor([0, 1] + [2 + number // 3 for number in range(len(WORDS))])
    return Sum((model_of(kind, seed=seed, dtype=dtype), model_of(kind, seed=seed + 1, dtype=dtype, codes=codes))).eval()


def random_texts(count: int, longest: int, seed: int, *, shortest: int = 1) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [list(random.choice(WORDS, random.integers(shortest, longest + 1))) for _ in range(count)]


def index() -> SubstitutionIndex:
    return SubstitutionIndex.build(TABLE, VOCABULARY)


def step_of(texts: list[list[str]], seed: int = 0, *, classes: int = 2, epoch: float = 9.0) -> Step:
    choices = index().for_words(texts)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, classes, len(texts)))
    return Step(choices.original, choices.mask, labels, choices, epoch)


def all_variants(choices: Substitutions, text: int) -> Tensor:
    """Every id sequence that one text can become, [variants, words]."""
    length = int(choices.mask[text].sum())
    slots = [choices.ids[text, place][choices.allowed[text, place]].tolist() for place in range(length)]
    return torch.tensor(list(itertools.product(*slots)), dtype=torch.int64).reshape(-1, length)


def dataset(train: int = 48, dev: int = 24, test: int = 24, *, seed: int = 0, name: str = "small") -> TextDataset:
    """Texts in which one word out of `GOOD` or `BAD` decides the label."""
    random = np.random.default_rng(seed)

    def split(role: str, count: int) -> Split:
        labels = np.arange(count) % 2
        texts = []
        for label in labels:
            words = list(random.choice(PLAIN, random.integers(2, 9)))
            words.insert(int(random.integers(0, len(words))), str(random.choice((BAD, GOOD)[label])))
            texts.append(" ".join(words))
        return Split(role, tuple(texts), labels.astype(np.int64))

    return TextDataset(name, ("negative", "positive"), split("train", train), split("dev", dev), split("test", test))


def with_random_weights(bag: BagOfWords, generator: torch.Generator) -> BagOfWords:
    """The bag with weights drawn at random, those of places too."""
    with torch.no_grad():
        drawn = [bag.weight, bag.bias, *((bag.places.start, bag.places.end) if bag.places is not None else ())]
        for weight in drawn:
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
        bag.weight[PADDING] = 0
    return bag


def tied_cnn(folder: Path, recipe: Recipe | None) -> Run:
    """A TextCNN with tied words, trained on the worst case for an epoch in this folder."""
    return train(
        TextCNN(vectors(), trainable_embedding=True),
        dataset(),
        objective=Certified(ramp_epochs=0.0),
        initialiser=ScaledClusterMeans(),
        sharing=TiedWords((1.0,)),
        recipe=recipe,
        substitutions=TABLE,
        config=replace(QUICK, epochs=1),
        out=folder,
    )
