"""`sgbt verify`: rows of certificates in; what was checked, or the first false row, out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen, say
from sgbt.core.errors import CertificateError, ForgedRowError

console = Screen()
FORGED = 1
"""The exit code when a row is false; 2 is for files and options that cannot be used."""
SaveTexts = Annotated[
    Path | None, typer.Option(help="Also write the texts of the rows there, for the independent checker.")
]


@opt.reads("data")
def verify_(
    certificates: Annotated[Path, typer.Argument(help="Rows that sgbt certify --out wrote.")],
    reading: Reading,
    model: Annotated[Path | None, typer.Option(help="Folder of the model that they are about.")] = None,
    attacks: opt.Attacks = None,
    sample: opt.Sample = "all",
    seed: opt.SampleSeed = None,
    split: opt.SplitName = None,
    texts: opt.TextsFile = None,
    save_texts: SaveTexts = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    callable_: opt.Callable_ = None,
    encoder: opt.EncoderFile = None,
    fingerprint: opt.Fingerprint = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove certificates again. Exit code 0: every row checked is true; 1: one is not; 2: something cannot be used."""
    from sgbt.certify import verify
    from sgbt.cli import verify_view as view
    from sgbt.cli.screen import counting
    from sgbt.models import load_classifier

    if (model is None) == (callable_ is None):
        raise CertificateError(
            expected="--model, or --callable with --encoder",
            got="neither" if model is None else "both",
            where="sgbt verify",
        )
    opt.use_threads(threads)
    asked: dict[str, Any] = {"sample": view.sample_of(sample), "seed": seed, "where": str(certificates)}
    rows, asked["attacks"] = view.rows_of(certificates, attacks)
    subject: Any
    against: Any
    if model is None:
        assert callable_ is not None
        subject, against = view.callable_and_encoder(callable_, encoder, fingerprint)
        known = view.texts_of_callable(texts, reading)
    else:
        subject = load_classifier(model)
        against = view.against(rows, subject, substitutions, threat, vectors=vectors, data_home=data_home)
        known = view.known_texts(texts, reading, model, subject, split, data_home=data_home)
    if save_texts:
        view.of_rows(known, rows).write(save_texts)
    console.print(f"{certificates}: {len(rows):,} rows of {model or callable_}; {view.named(against)}")
    try:
        with counting() as bars:
            task = bars.add_task("proving again", total=len(rows))
            asked["listener"] = lambda done, of: bars.update(task, completed=done, total=of)
            found = verify(subject, rows, known.texts, against, labels=known.labels, **asked)
    except ForgedRowError as forged:
        say(str(forged))
        raise typer.Exit(FORGED) from forged
    view.show(found, console)
