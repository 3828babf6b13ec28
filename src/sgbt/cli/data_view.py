"""What a person should know of a dataset before training on it, printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.core.shares import Share
from sgbt.data import TextDataset, Tokenizer
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable, combinations

EXAMPLE_WORDS = 60


def describe_dataset(dataset: TextDataset, console: Console) -> None:
    """Sizes, labels and lengths of every split, and how clean the split is."""
    table = Table("split", "texts", "labels", "words in the median text", "longest", title=dataset.name)
    for split in dataset.splits:
        lengths = split.tokenised().ids.lengths
        shares = np.bincount(split.labels, minlength=dataset.classes) / max(len(split), 1)
        named = [f"{name} {share:.0%}" for name, share in zip(dataset.label_names, shares, strict=True)]
        labels = ", ".join(named if len(named) <= 3 else [*named[:2], f"and {len(named) - 2} more"])
        median, longest = (int(np.median(lengths)), int(lengths.max())) if len(split) else (0, 0)
        table.add_row(split.name, f"{len(split):,}", labels, f"{median:,}", f"{longest:,}")
    console.print(table)
    console.print(f"copies: {dataset.duplicates}")


def describe_vectors(dataset: TextDataset, vectors: EmbeddingTable, console: Console) -> None:
    """How much of the training text has a vector."""
    coverage = vectors.coverage(dataset.train.tokenised().counts())
    console.print(f"vectors {vectors.name}: {len(vectors):,} words of width {vectors.width}; {coverage}")


def describe_substitutions(dataset: TextDataset, table: SubstitutionTable, console: Console) -> None:
    """How much an adversary may change, in figures and in one text."""
    tokens = dataset.test.tokenised()
    console.print(f"substitutions {table.describe()}")
    texts = [tokens.words(row) for row in range(min(len(tokens), 2000))]
    console.print(f"in test: {table.describe_texts(texts)}")
    if len(dataset.test):
        shortest = min(range(len(texts)), key=lambda row: abs(len(texts[row]) - EXAMPLE_WORDS))
        show_text(dataset.test.texts[shortest], table, console)


def reach_of(dataset: TextDataset, table: SubstitutionTable, *, name: str, vectors: EmbeddingTable) -> dict[str, Any]:
    """What a table reaches in all test texts, as a row: words with substitutes, running words, and texts."""
    tokens = dataset.test.tokenised()
    about, found = table.describe(), table.describe_texts(tokens.words(row) for row in range(len(tokens)))
    return {
        "dataset": dataset.name,
        "data_hash": dataset.hash,
        "substitutions": {"name": name, "table": table.name, "hash": table.hash},
        "vectors": vectors.name,
        "words_with_substitutes": about.words,
        "pairs": about.pairs,
        "words_with_vectors": len(vectors),
        "test_texts": found.texts,
        "test_texts_reached": found.texts_reached,
        "running_words": found.words,
        "running_words_reached": found.replaceable,
        "log10_combinations": found.log10_combinations,
    }


def show_reach(row: Mapping[str, Any], console: Console) -> None:
    """A row of `reach_of` for a person."""
    words, texts = (Share(row[f"{what}_reached"], row[what]) for what in ("running_words", "test_texts"))
    console.print(
        f"{row['substitutions']['name']}: {row['words_with_substitutes']:,} words have substitutes; in test "
        f"{words.count:,} of {words.total:,} running words ({words.value:.1%}) can be replaced, and a word or more in "
        f"{texts.count:,} of {texts.total:,} texts ({texts.value:.1%})",
    )


def show_text(text: str, table: SubstitutionTable, console: Console) -> None:
    """One text with every replaceable word marked and its first substitutes beside it."""
    tokens = Tokenizer().tokenize(text)
    shown = Text()
    position = 0
    for word, start, end in zip(tokens.words, tokens.starts, tokens.ends, strict=True):
        substitutes = table.substitutes(word)
        shown.append(text[position:start])
        shown.append(text[start:end], style="bold" if substitutes else "")
        if substitutes:
            shown.append(f"({'|'.join(substitutes[:3])}{'|...' if len(substitutes) > 3 else ''})", style="cyan")
        position = end
    shown.append(text[position:])
    variants = combinations(table, tokens.words)
    console.print(f"for example, this text of {len(tokens)} words has {variants:,} variants:")
    console.print(shown)
