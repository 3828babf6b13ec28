"""`sgbt predict`: the rows of a file with a label for each, and with a certificate if asked."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.parts_view import Ray, in_parts
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen

if TYPE_CHECKING:
    from sgbt.evaluate.labelling import Labelling

FORMAT = "Format of the file: csv, tsv, jsonl, text (one text in each line) or parquet; otherwise by its name."
Counted = Callable[[Counter[str]], None]


@opt.reads(without=("label", "drop_empty"))
def predict_(
    run: opt.Run,
    file: Annotated[
        str, typer.Argument(help="A CSV, TSV, JSONL, text or Parquet file, or a folder of such; - is standard input.")
    ],
    reading: Reading,
    certify: Annotated[bool, typer.Option("--certify", help="Add verdict, margin and radius of each text.")] = False,
    max_substitutions: opt.Budget = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    out: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .tsv, .jsonl or .parquet file for the rows, otherwise standard output; with --ray or a "
            "folder, a folder for their parts."
        ),
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", rich_help_panel=opt.READING, help=FORMAT)] = None,
    ray: Ray = False,
    address: opt.Address = None,
    workers: opt.WorkersOrCores = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Label the texts of a file. Every column is kept; the file needs no labels, and may be of any size.

    With --ray, or for a folder, each shard of the rows is a part of its own in the folder --out, and the same command
    resumes.
    """
    from sgbt.cli.screen import counting
    from sgbt.evaluate.labelling import Labelling
    from sgbt.models import load_classifier

    opt.use_threads(threads)
    classifier = load_classifier(run)
    table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home) if certify else None
    labelling = Labelling(classifier, table, reading.text, max_substitutions)
    found: Counter[str] = Counter()
    with counting() as bars:
        task = bars.add_task("predicting", total=None)

        def tell(counts: Counter[str]) -> None:
            found.update(counts)
            bars.update(task, advance=sum(counts[name] for name in classifier.label_names))

        if ray or (file != "-" and Path(file).is_dir()):
            form = None if format_ is None else _format(file, format_)
            in_parts(labelling, file, reading, out, tell, form=form, ray=ray, address=address, workers=workers)
        else:
            _rows(labelling, file, reading, out, format_, tell)
    screen = Screen(stderr=True)
    counts = [f"{name} {found[name]:,}" for name in (*classifier.label_names, *sorted(found)) if name in found]
    total = sum(found[name] for name in classifier.label_names)
    screen.print(f"{total:,} texts: {', '.join(dict.fromkeys(counts))}", soft_wrap=True, markup=False)
    if out:
        screen.print(f"rows in {out}", soft_wrap=True, markup=False)


def _rows(
    labelling: Labelling, file: str, reading: Reading, out: Path | None, format_: str | None, tell: Counted
) -> None:
    """One file in, one file out."""
    from sgbt.data.row_writers import writing
    from sgbt.data.table_files import chunks

    form = _format(file, format_)
    with writing(out, otherwise=form) as write:
        for rows in chunks(sys.stdin if file == "-" else Path(file), form, reading.layout):
            columns = labelling.of(rows)
            write(columns)
            tell(labelling.counts(columns))


def _format(file: str, name: str | None) -> str:
    from sgbt.core.errors import DataError
    from sgbt.data.table_files import FORMATS, format_of

    if name is None:
        return "csv" if file == "-" else format_of(Path(file))
    if name not in FORMATS:
        raise DataError(expected=f"one of {', '.join(FORMATS)}", got=repr(name), where="--format")
    return name
