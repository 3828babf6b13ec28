"""Options that several verbs share, and how names on the command line become values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli.progress import ProgressBars
from sgbt.data import TextDataset, load_dataset
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.lexicon import SubstitutionTable
from sgbt.lexicon.named import table_named

DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder with data, looked into first (otherwise $SGBT_DATA, then the user cache folder)."),
]
Data = Annotated[str, typer.Argument(help="A dataset (imdb, yahoo_answers) or a CSV, TSV, JSONL or Parquet file.")]
TextColumn = Annotated[str | None, typer.Option("--text", help="Column with the texts, if not named text.")]
LabelColumn = Annotated[str | None, typer.Option("--label", help="Column with the labels, if not named label.")]
DropEmpty = Annotated[bool, typer.Option("--drop-empty", help="Leave out rows without text instead of stopping.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the data file.")]
Vectors = Annotated[str, typer.Option(help="Word vectors: glove, glove.6B.50d, ..., or the path of a vector file.")]
Substitutions = Annotated[
    str,
    typer.Option(
        help="Who may replace whom: counter_fitted, counter_fit, neighbours, wordnet, sememes, none or a JSON file; "
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
    seed: int = 0,
) -> TextDataset:
    """The dataset that the command line names."""
    with ProgressBars() as bars:
        return load_dataset(
            data,
            text=text,
            label=label,
            drop_empty=drop_empty,
            encoding="utf-8-sig" if encoding == "utf-8" else encoding,
            data_home=data_home,
            progress=bars,
            seed=seed,
        )


def vectors_of(name: str, *, data_home: Path | None) -> EmbeddingTable:
    """The word vectors that the command line names."""
    return load_embeddings(name, data_home=data_home)


def table_of(
    name: str, vectors: EmbeddingTable | Callable[[], EmbeddingTable], *, data_home: Path | None
) -> SubstitutionTable | None:
    """The substitution table that the command line names; vectors that come as a function are read only if needed."""
    return table_named(name, vectors, data_home=data_home)
