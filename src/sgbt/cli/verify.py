"""`sgbt verify`: rows of certificates in; what was checked, or the first row that says what is not so, out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen, say
from sgbt.core.errors import ForgedRowError

console = Screen()
LIE = 1
"""The exit code when a row says what is not so; 2 is for files and options that cannot be used."""


@opt.reads("data")
def verify_(
    certificates: Annotated[Path, typer.Argument(help="Rows that sgbt certify --out wrote.")],
    model: Annotated[Path, typer.Option(help="Folder of the model that they are about.")],
    reading: Reading,
    attacks: opt.Attacks = None,
    sample: opt.Sample = "all",
    seed: opt.SampleSeed = None,
    split: opt.SplitName = None,
    texts: opt.TextsFile = None,
    save_texts: Annotated[
        Path | None, typer.Option(help="Also write the texts of the rows there, for the independent checker.")
    ] = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove certificates again. Exit code 0: every row checked is true; 1: one is not; 2: something cannot be used."""
    import torch

    from sgbt.attacks import read_rows as read_attacks
    from sgbt.certify import read_rows, verify
    from sgbt.cli import verify_view as view
    from sgbt.cli.screen import counting
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    chosen = view.sample_of(sample)
    rows = read_rows(certificates)
    broken = [row for path in attacks or () for row in read_attacks(path)]
    classifier = load_classifier(model)
    table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    known = view.known_texts(texts, reading, model, classifier, split, data_home=data_home)
    if save_texts:
        view.of_rows(known, rows).write(save_texts)
    console.print(f"{certificates}: {len(rows):,} rows of {model}; {table!r}")
    try:
        with counting() as bars:
            task = bars.add_task("proving again", total=len(rows))
            found = verify(
                classifier,
                rows,
                known.texts,
                table,
                labels=known.labels,
                attacks=broken,
                sample=chosen,
                seed=seed,
                where=str(certificates),
                listener=lambda done, of: bars.update(task, completed=done, total=of),
            )
    except ForgedRowError as lie:
        say(str(lie))
        raise typer.Exit(LIE) from lie
    view.show(found, console)
