"""A small language with synonyms, in which everything about attacks can be tried in seconds.

Words come in groups of synonyms; each group speaks for one label or for none. Models are trained on texts that use a
few words of each group, so that unfamiliar synonyms can fool them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from sgbt.models import BagOfWords, BiLSTM, Sum, TextClassifier, TextCNN, WordEmbedding
from sgbt.threats import UNKNOWN, SubstitutionTable, Vocabulary

GROUPS, SYNONYMS, WIDTH = 24, 4, 10


@dataclass(frozen=True)
class World:
    words: tuple[tuple[str, ...], ...]
    vectors: torch.Tensor
    table: SubstitutionTable
    vocabulary: Vocabulary

    @staticmethod
    def of(*, spread: float, seed: int = 0) -> World:
        rng = np.random.default_rng(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = tuple(tuple(f"w{letters[g]}{letters[s]}" for s in range(SYNONYMS)) for g in range(GROUPS))
        centres = rng.normal(size=(GROUPS, 1, WIDTH))
        vectors = (centres + spread * rng.normal(size=(GROUPS, SYNONYMS, WIDTH))).reshape(-1, WIDTH)
        replaceable = [group for number, group in enumerate(words) if number % 4]  # every fourth group is fixed
        entries = {word: tuple(other for other in group if other != word) for group in replaceable for word in group}
        entries[words[1][0]] += ("unlisted", "unheardof")  # substitutes that the vocabulary does not know
        entries["strange"] = words[2][:2]  # an unknown word that has known substitutes
        vocabulary = Vocabulary(tuple(word for group in words for word in group))
        matrix = np.concatenate([np.zeros((1, WIDTH)), vectors.mean(axis=0, keepdims=True), vectors])
        return World(words, torch.from_numpy(matrix), SubstitutionTable(entries, "synonyms"), vocabulary)

    def text(self, rng: np.random.Generator, *, length: int, label: int, familiar: bool = False) -> str:
        """Words of random groups; two thirds speak for the label (groups of its parity, modulo classes)."""
        chosen = []
        for _ in range(length):
            group = int(rng.integers(GROUPS))
            if rng.random() < 0.4:
                group = group // 3 * 3 + label % 3
            chosen.append(self.words[group][int(rng.integers(2 if familiar else SYNONYMS))])
        return " ".join(chosen)

    def texts(self, count: int, *, length: int, classes: int = 2, seed: int = 1) -> tuple[list[str], list[int]]:
        rng = np.random.default_rng(seed)
        labels = [number % classes for number in range(count)]
        return [self.text(rng, length=length, label=label) for label in labels], labels


def network(world: World, kind: str, *, classes: int = 2) -> TextCNN | BiLSTM | Sum:
    embedding = WordEmbedding(world.vectors)
    match kind:
        case "cnn":
            return TextCNN(embedding, classes=classes, kernel_sizes=(1, 2, 3), filters=6, dropout=0.0)
        case "cnn-mean":
            return TextCNN(embedding, classes=classes, kernel_sizes=(3, 2), filters=6, dropout=0.0, pooling="mean")
        case "cnn-gelu":
            return TextCNN(embedding, classes=classes, kernel_sizes=(2, 4), filters=6, dropout=0.0, activation="gelu")
        case "cnn-projection":
            return TextCNN(embedding, classes=classes, kernel_sizes=(2,), filters=6, activation="relu", projection=5)
        case "bilstm":
            return BiLSTM(embedding, classes=classes, hidden=6, dropout=0.0)
        case "bilstm-mean" | "bilstm-max":
            return BiLSTM(embedding, classes=classes, hidden=6, dropout=0.0, pooling=kind.removeprefix("bilstm-"))
        case "two-channel":
            codes = torch.arange(len(world.vectors)).clamp(max=40)
            coded = WordEmbedding(world.vectors, codes=codes)
            bag = BiLSTM(coded, classes=classes, hidden=4, dropout=0.0)
            return Sum((TextCNN(embedding, classes=classes, kernel_sizes=(2,), filters=6, dropout=0.0), bag))
        case "beside-words":
            words = BagOfWords(classes=classes, features=(), places=True)
            codes = torch.arange(len(world.vectors)).clamp(max=UNKNOWN)
            words.adopt(codes=codes, keys=torch.zeros(0, dtype=torch.int64))
            return Sum((BiLSTM(embedding, classes=classes, hidden=4, dropout=0.0, pooling="mean"), words))
        case "weighted-sum":
            parts = (network(world, own, classes=classes) for own in ("beside-words", "cnn", "cnn-mean"))
            return Sum(parts, (0.5, 2.0, 1.0))
    raise ValueError(kind)


def trained(world: World, kind: str, *, classes: int = 2, steps: int = 60, seed: int = 0) -> TextClassifier:
    """A classifier in float64, so that rounding decides nothing."""
    torch.manual_seed(seed)
    model = network(world, kind, classes=classes).double()
    names = tuple(f"label {number}" for number in range(classes))
    classifier = TextClassifier(model, world.vocabulary, names, world.table)
    rng = np.random.default_rng(seed)
    labels = torch.arange(240) % classes
    texts = [world.text(rng, length=15, label=int(label), familiar=True) for label in labels]
    ids = torch.tensor([world.vocabulary.encode(text.split()) for text in texts])
    optimiser = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=0.03)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    return classifier


KINDS = (
    "cnn",
    "cnn-mean",
    "cnn-gelu",
    "cnn-projection",
    "bilstm",
    "bilstm-mean",
    "bilstm-max",
    "two-channel",
    "beside-words",
    "weighted-sum",
)
