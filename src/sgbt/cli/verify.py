"""`sgbt verify`: rows of certificates in; what was checked, or the first row that says what is not so, out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    threat: opt.ThreatName = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove certificates again. Exit code 0: every row checked is true; 1: one is not; 2: something cannot be used."""
    import torch

    from sgbt.cli import verify_view as view
    from sgbt.cli.screen import counting
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    asked: dict[str, Any] = {"sample": view.sample_of(sample), "seed": seed, "where": str(certificates)}
    rows, broken = view.rows_of(certificates, attacks)
    classifier = load_classifier(model)
    against = view.against(rows, classifier, substitutions, threat, vectors=vectors, data_home=data_home)
    known = view.known_texts(texts, reading, model, classifier, split, data_home=data_home)
    if save_texts:
        view.of_rows(known, rows).write(save_texts)
    console.print(f"{certificates}: {len(rows):,} rows of {model}; {view.named(against)}")
    try:
        with counting() as bars:
            task = bars.add_task("proving again", total=len(rows))
            asked["listener"] = lambda done, of: bars.update(task, completed=done, total=of)
            found = view.proven_again(classifier, rows, known, against, broken, asked)
    except ForgedRowError as lie:
        say(str(lie))
        raise typer.Exit(LIE) from lie
    view.show(found, console)
