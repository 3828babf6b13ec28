"""`sgbt certify`: proofs for the texts of a dataset or file, one row each, and a table of what they come to."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sgbt.certify import DEFAULT_TIERS, TIERS, Certificate, certify
from sgbt.certify.robust import Robust, robust_by_oracle
from sgbt.certify.summary import Summary
from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.data import Split
from sgbt.errors import CertificateError, DataError
from sgbt.lexicon import SubstitutionTable
from sgbt.models import TextClassifier, load_classifier
from sgbt.shares import Share

console = Console(highlight=False)
ORACLE_LIMIT = 20_000

Run = Annotated[Path, typer.Argument(help="Folder of a trained model; see sgbt train.")]
Tiers = Annotated[
    str, typer.Option(help=f"Tiers to try, separated by commas, of {', '.join(TIERS)}; all, or those not too dear.")
]
Budget = Annotated[int | None, typer.Option(help="At most this many words replaced at once; otherwise any number.")]
Table_ = Annotated[
    str, typer.Option(help="Who may replace whom: model (what it was trained for), or as in sgbt train.")
]


def certify_(
    run: Run,
    data: opt.DataOfRun = "",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    split: Annotated[str, typer.Option(help="Which texts: train, dev or test.")] = "test",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many texts.")] = None,
    tiers: Tiers = "default",
    max_substitutions: Budget = None,
    substitutions: Table_ = "model",
    vectors: opt.Vectors = "glove",
    oracle: Annotated[
        int, typer.Option(min=0, help="Enumerate texts with at most so many variants; 0 for none.")
    ] = ORACLE_LIMIT,
    out: Annotated[
        Path | None, typer.Option(help="File for the rows; the same command goes on where it stood.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Processor threads to use.")] = None,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Prove for each text that no substitution changes its label, and say how many proofs there are."""
    if threads:
        torch.set_num_threads(threads)
    classifier = load_classifier(run)
    table = table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    reading = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding)
    dataset = reading.for_run(run, data_home=data_home)
    chosen = _split(dataset.splits, split)
    chosen = chosen[:limit] if limit else chosen
    labels = numbered_as(classifier, dataset.label_names, chosen)
    certificates = _with_progress(
        classifier, Split(chosen.name, chosen.texts, labels), table, tiers_of(tiers), max_substitutions, out
    )
    console.print(f"{run}: {len(chosen):,} texts of {dataset.name}, {split}; {table!r}", soft_wrap=True, markup=False)
    if max_substitutions is not None:
        console.print(f"at most {max_substitutions} words replaced at once", soft_wrap=True)
    robust = robust_by_oracle(classifier, chosen.texts, certificates, table, most=oracle) if oracle else None
    _show(Summary.of(certificates), robust, oracle)
    if out:
        console.print(f"rows in {out}", soft_wrap=True, markup=False)


def table_for(classifier: TextClassifier, name: str, *, vectors: str, data_home: Path | None) -> SubstitutionTable:
    """The table that the command line names; `model` is the one that the model was trained for."""
    table = classifier.table
    if name != "model":
        table = opt.table_of(name, partial(opt.vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise CertificateError(
            wanted="a substitution table",
            got="none, and the model was trained without",
            remedy="name one with --substitutions, such as counter_fitted",
        )
    return table


def tiers_of(names: str) -> tuple[str, ...]:
    """The tiers that the command line names."""
    if names == "default":
        return DEFAULT_TIERS
    return TIERS if names == "all" else tuple(name.strip() for name in names.split(","))


def numbered_as(classifier: TextClassifier, names: tuple[str, ...], split: Split) -> np.ndarray:
    """The split's labels numbered as the classifier numbers them."""
    unknown = [name for name in names if name not in classifier.label_names]
    if unknown:
        raise DataError(
            wanted=f"the model's labels {', '.join(classifier.label_names)}",
            got=repr(unknown[0]),
            where="the data",
            remedy="certify on data with the labels that the model was trained on",
        )
    places = np.array([classifier.label_names.index(name) for name in names], dtype=np.int64)
    return places[split.labels]


def _split(splits: tuple[Split, ...], name: str) -> Split:
    names = ("train", "dev", "test")
    if name not in names:
        raise DataError(wanted="one of train, dev, test", got=repr(name), where="--split")
    chosen = splits[names.index(name)]
    if not len(chosen):
        raise DataError(wanted="texts to certify", got=f"an empty {name} split", where="--split")
    return chosen


def _with_progress(
    classifier: TextClassifier,
    split: Split,
    table: SubstitutionTable,
    tiers: tuple[str, ...],
    max_substitutions: int | None,
    out: Path | None,
) -> list[Certificate]:
    columns = (TextColumn("certifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_interactive) as bars:
        task = bars.add_task("certifying", total=len(split))
        return certify(
            classifier,
            split,
            table,
            tiers=tiers,
            max_substitutions=max_substitutions,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )


def _show(summary: Summary, robust: Robust | None, most: int) -> None:
    figures = Table("accuracy", "share", "95 % interval", "count", "of", box=None, pad_edge=False)
    lines: list[tuple[str, Share]] = [
        ("clean, of all texts", summary.clean),
        ("certified, of all texts", summary.certified),
        ("certified, of correct texts", summary.certified_of_correct),
    ]
    if robust is not None:
        lines.append((f"robust by oracle, of texts with at most {most:,} variants", robust.share))
        lines.append(("certified, of the same texts", robust.certified))
    for name, share in lines:
        low, high = share.interval
        value = f"{100 * share.value:.2f} %" if share.total else "-"
        span = f"{100 * low:.2f} to {100 * high:.2f}" if share.total else "-"
        figures.add_row(name, value, span, f"{share.count:,}", f"{share.total:,}")
    console.print(figures)
    tiers = Table("tier", "tried", "certified", "median ms", "mean ms", box=None, pad_edge=False)
    for tier in summary.tiers:
        tiers.add_row(
            tier.name,
            f"{tier.tried:,}",
            f"{tier.certified:,}",
            f"{tier.median_milliseconds:.2f}",
            f"{tier.mean_milliseconds:.2f}",
        )
    console.print(tiers)
    cut = f"; {summary.truncated:,} texts are longer than the model reads" if summary.truncated else ""
    console.print(f"a margin counts above the rounding slack {summary.slack:.2g}{cut}", soft_wrap=True)
