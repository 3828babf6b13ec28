"""`sgbt predict`: the rows of a file with a label for each, and with a certificate if asked."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen

if TYPE_CHECKING:
    from sgbt.certify import Prepared
    from sgbt.data.tables import Table
    from sgbt.models import TextClassifier

FORMAT = "Format of the file: csv, tsv, jsonl, text (one text in each line) or parquet; otherwise by its name."


@opt.reads(without=("label", "drop_empty"))
def predict_(
    run: opt.Run,
    file: Annotated[str, typer.Argument(help="A CSV, TSV, JSONL, text or Parquet file; - is standard input.")],
    reading: Reading,
    certify: Annotated[bool, typer.Option("--certify", help="Add verdict, margin and radius of each text.")] = False,
    max_substitutions: opt.Budget = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .tsv or .jsonl file for the rows; otherwise standard output.")
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", rich_help_panel=opt.READING, help=FORMAT)] = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Label the texts of a file. Every column is kept; the file needs no labels, and may be of any size."""
    from sgbt.certify import Prepared
    from sgbt.cli.screen import counting
    from sgbt.data.row_writers import writing
    from sgbt.data.table_files import chunks
    from sgbt.models import load_classifier

    opt.use_threads(threads)
    classifier = load_classifier(run)
    prepared = None
    if certify:
        table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
        prepared = Prepared.of(classifier, table)
    source = sys.stdin if file == "-" else Path(file)
    form = _format(file, format_)
    found: Counter[str] = Counter()
    with counting() as bars, writing(out, otherwise=form) as write:
        task = bars.add_task("predicting", total=None)
        for rows in chunks(source, form, reading.layout):
            added = _added(classifier, prepared, texts_of(rows, reading.text), max_substitutions)
            _refuse_taken(rows, added)
            write({**rows.columns, **added})
            found.update(added["predicted"] + added.get("verdict", []))
            bars.update(task, advance=len(rows))
    screen = Screen(stderr=True)
    counts = [f"{name} {found[name]:,}" for name in (*classifier.label_names, *sorted(found)) if name in found]
    total = sum(found[name] for name in classifier.label_names)
    screen.print(f"{total:,} texts: {', '.join(dict.fromkeys(counts))}", soft_wrap=True, markup=False)
    if out:
        screen.print(f"rows in {out}", soft_wrap=True, markup=False)


def _format(file: str, name: str | None) -> str:
    from sgbt.core.errors import DataError
    from sgbt.data.table_files import FORMATS, format_of

    if name is None:
        return "csv" if file == "-" else format_of(Path(file))
    if name not in FORMATS:
        raise DataError(expected=f"one of {', '.join(FORMATS)}", got=repr(name), where="--format")
    return name


def texts_of(rows: Table, column: str | None) -> list[str]:
    """The texts of a file: of the column named, of the only one, or of that named text."""
    from sgbt.core.errors import DataError

    only = next(iter(rows.columns)) if len(rows.columns) == 1 else "text"
    texts = rows.column(column or only)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                expected="a text", got=repr(text)[:80], where=rows.where(place), remedy="fill or drop the row"
            )
    return texts


def _added(
    classifier: TextClassifier, prepared: Prepared | None, texts: list[str], budget: int | None
) -> dict[str, list[Any]]:
    from sgbt.certify import certify
    from sgbt.certify.rows.summary import PREDICTED, PROVEN, predicted_cells, proven_cells

    answers = classifier.predict(texts)
    largest = answers.probabilities.max(axis=1).tolist()
    names: tuple[str, ...] = PREDICTED
    cells: list[tuple[str, ...]] = [predicted_cells(*each) for each in zip(answers.labels, largest, strict=True)]
    if prepared is not None:
        names += PROVEN
        proofs = certify(prepared, texts, max_substitutions=budget)
        cells = [(*own, *proven_cells(proof)) for own, proof in zip(cells, proofs, strict=True)]
    return {name: [row[place] for row in cells] for place, name in enumerate(names)}


def _refuse_taken(rows: Table, added: dict[str, list[Any]]) -> None:
    from sgbt.core.errors import DataError

    if taken := [name for name in added if name in rows.columns]:
        raise DataError(
            expected="a file without the columns that are added",
            got=repr(taken[0]),
            where=rows.source,
            remedy="rename it",
        )
