"""Options that several verbs share: one meaning, one default and one sentence of help for each.

tests/cli/test_one_language.py walks every verb and fails where an option of the same name says something else.
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgbt.cli.reading import Reading
from sgbt.core.errors import LARGEST_SEED, CertificateError, SgbtWarning

if TYPE_CHECKING:  # imported where they are used: `sgbt data list` needs no torch
    from sgbt.embeddings import EmbeddingTable
    from sgbt.models import TextClassifier
    from sgbt.threats import SubstitutionTable, Threat

READING = "Reading the data"
"""The panel of the help that these options stand in, behind those of the verb itself."""

MOST_AT_ONCE = max(64, 4 * (os.cpu_count() or 1))
"""Threads or processes: more than a few for each core only wait for each other."""
MOST_EPOCHS = 1_000_000
LARGEST = LARGEST_SEED
"""What a whole number of the machine holds: seeds, and counts of texts, words and questions."""
MODEL = "model"
"""The table that the model was trained for."""


def _reading(kind: Any, help_: str, *names: str) -> Any:
    return Annotated[kind, typer.Option(*names, rich_help_panel=READING, help=help_)]


Run = Annotated[Path, typer.Argument(help="Folder of a trained model; see sgbt train.")]
Threads = Annotated[int | None, typer.Option(min=1, max=MOST_AT_ONCE, help="Processor threads to use.")]
_workers = typer.Option(min=1, max=MOST_AT_ONCE, help="Processes at once; by default as many as the work allows.")
Workers = Annotated[int, _workers]
WorkersOrCores = Annotated[int | None, _workers]
Address = Annotated[str | None, typer.Option(help="The Ray cluster to use, as ray names it: auto, ray://...")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST, help="Seed of everything random.")]
Limit = Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Only the first N texts; by default all of them.")]
SplitName = Annotated[
    str | None,
    typer.Option(
        help="Which texts: train, dev, test, or all for every row, labelled or not; otherwise test, or all of a file "
        "that has no labels."
    ),
]
ANY = "Any model (--callable)"
Callable_ = Annotated[
    str | None,
    typer.Option("--callable", rich_help_panel=ANY, help="module:function from encoded texts to rows of scores."),
]
EncoderFile = Annotated[
    Path | None, typer.Option(rich_help_panel=ANY, help="File of its encoder; see sgbt encode --encoder.")
]
Fingerprint = Annotated[
    str | None, typer.Option(rich_help_panel=ANY, help="Name of the function in the rows: model and version.")
]
Data = Annotated[str, typer.Argument(help="A dataset (imdb, yahoo) or a CSV, TSV, JSONL or Parquet file.")]
DataOfRun = Annotated[
    str,
    typer.Option(
        help="A dataset (imdb, yahoo) or a CSV, TSV, JSONL or Parquet file; otherwise what the model was trained on."
    ),
]
DataHome = _reading(
    Path | None, "Folder with data, looked into first (otherwise $SGBT_DATA, then the user cache folder)."
)
Vectors = Annotated[str, typer.Option(help="Word vectors: glove, glove.6B.50d, ..., or the path of a vector file.")]
Substitutions = Annotated[
    str,
    typer.Option(
        help="Substitution table: model (the one that a trained model was trained for), counter_fitted, counter_fit, "
        "neighbours, wordnet, wordnet_hypernyms, sememes, none or a JSON file; options follow a colon "
        "(neighbours:nearest=4,distance=0.3), and + joins names to a union; auto is counter_fitted, or counter_fit "
        "where that cannot be had."
    ),
]
ThreatName = Annotated[
    str | None,
    typer.Option(
        help='Threat, in place of --substitutions: "counter_fitted + typos:1 + delete:2"; model is '
        "the table that a trained model was trained for."
    ),
]
Budget = Annotated[
    int | None, typer.Option(max=LARGEST, help="At most this many words replaced at once; by default any number.")
]
Sample = Annotated[
    str, typer.Option(help="How many rows are proven again: all, a number such as 100, or a share such as 0.1 or 10%.")
]
SampleSeed = Annotated[
    int | None,
    typer.Option(min=0, max=LARGEST, help="Seed of the sample, to repeat it; by default it cannot be predicted."),
]
TextsFile = Annotated[
    Path | None, typer.Option(help="A JSONL file with index and text of each row, in place of a dataset.")
]
RowsOut = Annotated[Path | None, typer.Option(help="File for the rows; the same command resumes.")]
Certificates = Annotated[Path | None, typer.Option(help="Rows that sgbt certify --out wrote.")]
Attacks = Annotated[
    list[Path] | None, typer.Option(help="Rows that sgbt attack --out wrote, on the same texts; may be repeated.")
]

_READING: dict[str, tuple[Any, Any]] = {
    "data": (DataOfRun, ""),
    "text": (_reading(str | None, "Column with the texts, by name or position, if not named text.", "--text"), None),
    "label": (
        _reading(str | None, "Column with the labels, by name or position, if not named label.", "--label"),
        None,
    ),
    "test_file": (
        _reading(str | None, "A second file for test; otherwise a fifth of the first is set aside."),
        None,
    ),
    "drop_shared": (_reading(bool, "Leave texts that are in test out of train.", "--drop-shared"), False),
    "drop_empty": (_reading(bool, "Leave out rows without text or label instead of stopping.", "--drop-empty"), False),
    "encoding": (_reading(str, "Encoding of the data file; auto detects it."), "auto"),
    "separator": (
        _reading(str, "Column separator: comma, semicolon, tab, pipe or a character; auto detects it."),
        "auto",
    ),
    "header": (
        _reading(
            bool, "Whether the first line has the column names; otherwise columns are 1, 2, ...", "--header/--no-header"
        ),
        True,
    ),
}
_FILE = ("text", "label", "drop_empty", "encoding", "separator", "header")


def reads(*more: str, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the options by which files are read, and `more` of them; it gets a `Reading` in their place."""
    names = [name for name in _READING if name in (*_FILE, *more) and name not in without]

    def decorated(verb: Callable[..., None]) -> Callable[..., None]:
        own = [each for each in inspect.signature(verb, eval_str=True).parameters.values() if each.name != "reading"]
        home = [each for each in own if each.name == "data_home"]
        read = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in _READING.items()
            if name in names
        ]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each not in home]
        parameters += [*read, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in home)]

        @functools.wraps(verb)
        def called(**given: Any) -> None:
            verb(reading=Reading(**{name: given.pop(name) for name in names}), **given)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return decorated


def use_threads(threads: int | None) -> None:
    """Let torch use so many threads; otherwise it chooses."""
    if threads:
        import torch

        torch.set_num_threads(threads)


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


def table_for(classifier: TextClassifier, name: str, *, vectors: str, data_home: Path | None) -> SubstitutionTable:
    """The table that the command line names for a trained model; `model` is the one that it was trained for."""
    if name == "run":
        warnings.warn("--substitutions run is called model now.", SgbtWarning, stacklevel=2)
        name = MODEL
    table = classifier.table
    if name != MODEL:
        table = table_of(name, functools.partial(vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise CertificateError(
            expected="a substitution table",
            got="none, and the model was trained without",
            remedy="name one with --substitutions, such as counter_fitted",
        )
    return table


def threat_for(classifier: TextClassifier, written: str, *, vectors: str, data_home: Path | None) -> Threat:
    """The threat that the command line names; the table `model` is the one that the model was trained for."""
    from sgbt.threats import parse_threat

    return parse_threat(written, lambda name: table_for(classifier, name, vectors=vectors, data_home=data_home))


def as_table(threat: Threat, max_substitutions: int | None) -> tuple[SubstitutionTable, int | None]:
    """A threat of substitutions alone as its table and the smallest of the budgets."""
    (edit,) = threat.edits
    assert edit.table is not None
    limits = [limit for limit in (edit.at_most, threat.total, max_substitutions) if limit is not None]
    return edit.table, min(limits, default=None)
