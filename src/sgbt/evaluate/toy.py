"""A toy world: texts, vectors and substitutions made up on the spot, for the grid `smoke` and for examples.

It exercises every part without any data. Its figures say nothing about any method.
"""

from __future__ import annotations

import numpy as np

from sgbt.core.errors import EvaluationError
from sgbt.data import Split, TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable

TOPICS = {
    "bad": ("bad", "awful", "poor", "dull", "weak", "boring"),
    "good": ("good", "great", "fine", "lovely", "strong", "brilliant"),
    "strange": ("strange", "odd", "weird", "curious", "peculiar", "unusual"),
}
PLAIN = (
    "the", "a", "film", "movie", "story", "plot", "actor", "cast", "scene", "ending", "was", "is", "with", "and",
    "very", "quite", "rather", "i", "it", "this",
)  # fmt: skip
SYNONYMS = (("film", "movie"), ("story", "plot"), ("actor", "cast"), ("very", "quite", "rather"), ("scene", "ending"))
CLASSES = {"toy": 2, "toy3": 3}
TEXTS = {"train": 240, "dev": 60, "test": 120}


def toy_dataset(name: str) -> TextDataset:
    """Short reviews in which a few words of one topic, against a lone word of another, decide the label."""
    if name not in CLASSES:
        raise EvaluationError(expected=f"one of {', '.join(CLASSES)}", got=repr(name), where="a toy dataset")
    topics = tuple(TOPICS)[: CLASSES[name]]
    random = np.random.default_rng(len(topics))

    def split(role: str, count: int) -> Split:
        labels = np.arange(count) % len(topics)
        texts = []
        for label in labels.tolist():
            words = [str(word) for word in random.choice(PLAIN, random.integers(4, 12))]
            own = [str(word) for word in random.choice(TOPICS[topics[label]], random.integers(1, 4))]
            other = topics[(label + 1) % len(topics)]
            stray = [str(random.choice(TOPICS[other]))] if len(own) > 1 and random.random() < 0.5 else []
            for word in own + stray:
                words.insert(int(random.integers(0, len(words) + 1)), word)
            texts.append(" ".join(words).capitalize() + ".")
        return Split(role, tuple(texts), labels.astype(np.int64))

    train, dev, test = (split(role, count) for role, count in TEXTS.items())
    return TextDataset(name, topics, train, dev, test)


def toy_vectors() -> EmbeddingTable:
    """Random vectors of eight numbers; words of one topic lie near each other."""
    random = np.random.default_rng(0)
    words, rows = list(PLAIN), [*random.standard_normal((len(PLAIN), 8))]
    for topic in TOPICS.values():
        centre = random.standard_normal(8)
        words += topic
        rows += [centre + 0.5 * random.standard_normal(8) for _ in topic]
    return EmbeddingTable(tuple(words), np.array(rows, dtype=np.float32), "toy")


def toy_table() -> SubstitutionTable:
    """Neighbours within a topic may replace each other, and so may a few plain words."""
    entries: dict[str, tuple[str, ...]] = {}
    for topic in TOPICS.values():
        for place, word in enumerate(topic):
            entries[word] = tuple(topic[(place + step) % len(topic)] for step in (1, 2))
    for group in SYNONYMS:
        for word in group:
            entries[word] = tuple(other for other in group if other != word)
    return SubstitutionTable(entries, "toy")
