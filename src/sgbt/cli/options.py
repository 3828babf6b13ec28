"""Options that several verbs share, and how names on the command line become values."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgbt.cli.reading import Reading
from sgbt.core.seeds import LARGEST_SEED

if TYPE_CHECKING:  # imported where they are used: `sgbt data list` needs no torch
    from sgbt.data import TextDataset
    from sgbt.embeddings import EmbeddingTable
    from sgbt.threats import SubstitutionTable

READING = "Reading the data"
"""The panel of the help that these options stand in, behind those of the verb itself."""

MOST_AT_ONCE = max(64, 4 * (os.cpu_count() or 1))
"""Threads or processes: more than a few for each core only wait for each other."""
MOST_EPOCHS = 1_000_000
LARGEST = LARGEST_SEED
"""What a whole number of the machine holds: seeds, and counts of texts, words and questions."""

Threads = Annotated[int | None, typer.Option(min=1, max=MOST_AT_ONCE, help="Processor threads to use.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST, help="Seed of everything random.")]
DataHome = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=READING,
        help="Folder with data, looked into first (otherwise $SGBT_DATA, then the user cache folder).",
    ),
]
Data = Annotated[str, typer.Argument(help="A dataset (imdb, yahoo) or a CSV, TSV, JSONL or Parquet file.")]
DataUnlessPreset = Annotated[
    str, typer.Argument(help="A dataset (imdb, yahoo) or a file; left out only with the preset of a published model.")
]
DataOfRun = Annotated[
    str, typer.Option(help="A dataset (imdb, yahoo) or a file; otherwise what the model was trained on.")
]
TextColumn = Annotated[
    str | None, typer.Option("--text", rich_help_panel=READING, help="Column with the texts, if not named text.")
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", rich_help_panel=READING, help="Column with the labels, if not named label.")
]
DropEmpty = Annotated[
    bool, typer.Option("--drop-empty", rich_help_panel=READING, help="Leave out rows without text instead of stopping.")
]
DropShared = Annotated[
    bool,
    typer.Option("--drop-shared", rich_help_panel=READING, help="Leave out of train the texts that test has as well."),
]
TestFile = Annotated[
    str | None,
    typer.Option(rich_help_panel=READING, help="A second file for test; otherwise a fifth of the first is set aside."),
]
Encoding = Annotated[str, typer.Option(rich_help_panel=READING, help="Encoding of the data file.")]
Vectors = Annotated[str, typer.Option(help="Word vectors: glove, glove.6B.50d, ..., or the path of a vector file.")]
Substitutions = Annotated[
    str,
    typer.Option(
        help="Who may replace whom: counter_fitted, counter_fit, neighbours, wordnet, wordnet_hypernyms, sememes, none "
        "or a JSON file; options follow a colon (neighbours:nearest=4,distance=0.3), and + joins names to a union; "
        "auto is counter_fitted, or counter_fit where that cannot be had."
    ),
]


def dataset_of(
    data: str,
    *,
    text: str | None,
    label: str | None,
    data_home: Path | None,
    drop_empty: bool = False,
    encoding: str = "utf-8",
) -> TextDataset:
    """The dataset that the command line names."""
    return Reading(data, text, label, drop_empty=drop_empty, encoding=encoding).load(data_home=data_home)


def vectors_of(name: str, *, data_home: Path | None) -> EmbeddingTable:
    """The word vectors that the command line names."""
    from sgbt.embeddings import load_embeddings

    return load_embeddings(name, data_home=data_home)


def table_of(
    name: str, vectors: EmbeddingTable | Callable[[], EmbeddingTable], *, data_home: Path | None
) -> SubstitutionTable | None:
    """The substitution table that the command line names; vectors that come as a function are read only if needed."""
    from sgbt.threats.named import table_named

    return table_named(name, vectors, data_home=data_home)
