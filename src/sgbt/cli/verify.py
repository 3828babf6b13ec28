"""`sgbt verify`: rows of certificates in; what was checked, or the first row that says what is not so, out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.certify import Table_
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen, say
from sgbt.core.errors import ForgedRowError

console = Screen()
LIE = 1
"""The exit code when a row says what is not so; 2 is for files and options that cannot be used."""

SampleOption = Annotated[
    str, typer.Option(help="How many rows are proven again: all, a number such as 100, or a share such as 0.1 or 10%.")
]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="Seed of the sample, to draw the same again; otherwise nobody can foresee it.")
]


def verify_(
    certificates: Annotated[Path, typer.Argument(help="Rows that sgbt certify --out wrote.")],
    model: Annotated[Path, typer.Option(help="Folder of the model that they are about.")],
    attacks: Annotated[
        list[Path] | None, typer.Option(help="Rows that sgbt attack --out wrote, on the same texts; may be repeated.")
    ] = None,
    sample: SampleOption = "all",
    seed: SeedOption = None,
    data: opt.DataOfRun = "",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    split: Annotated[str, typer.Option(help="Which texts were certified: train, dev or test.")] = "test",
    texts: Annotated[
        Path | None, typer.Option(help="A JSONL file with index and text of each row, in place of a dataset.")
    ] = None,
    save_texts: Annotated[
        Path | None, typer.Option(help="Also write the texts of the rows there, for the independent checker.")
    ] = None,
    substitutions: Table_ = "model",
    vectors: opt.Vectors = "glove",
    threads: opt.Threads = None,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Prove certificates again. Exit code 0: every row checked is true; 1: one is not; 2: something cannot be used."""
    import torch

    from sgbt.attacks import read_rows as read_attacks
    from sgbt.certify import read_rows
    from sgbt.cli import verify_parts as parts
    from sgbt.cli.certify_parts import table_for
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    chosen = parts.sample_of(sample)
    rows = read_rows(certificates)
    broken = [row for path in attacks or () for row in read_attacks(path)]
    classifier = load_classifier(model)
    table = table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    reading = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding)
    known = parts.texts_of(texts, reading, model, classifier, split, data_home=data_home)
    if save_texts:
        parts.of_rows(known, rows).write(save_texts)
    console.print(f"{certificates}: {len(rows):,} rows of {model}; {table!r}", soft_wrap=True)
    try:
        found = parts.with_progress(classifier, rows, known, table, broken, chosen, seed, str(certificates))
    except ForgedRowError as lie:
        say(str(lie))
        raise typer.Exit(LIE) from lie
    parts.show(found, console)
