"""`sgbt publish`: a run in, a folder to share out, with a card whose figures were checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen

console = Screen()


@opt.reads("data")
def publish_(
    run: opt.Run,
    reading: Reading,
    out: Annotated[Path, typer.Option(help="Folder to write; one that was published before is replaced.")],
    certificates: opt.Certificates = None,
    attacks: opt.Attacks = None,
    sample: opt.Sample = "100",
    seed: opt.SampleSeed = None,
    split: opt.SplitName = None,
    texts: opt.TextsFile = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    language: Annotated[str, typer.Option(help="Language of the texts, as the hub abbreviates it.")] = "en",
    licence: Annotated[str | None, typer.Option(help="Licence of the model, as the hub abbreviates it.")] = None,
    push_to: Annotated[
        str | None, typer.Option("--push", help="Also upload it to this repository of the Hugging Face hub, private.")
    ] = None,
    data_home: opt.DataHome = None,
) -> None:
    """Write a model as the Hugging Face hub has them: weights, words, and a card with its figures.

    Figures are not believed: rows are checked, a sample of the certificates is proven again, and a sample of the
    texts that attacks left unbroken is attacked again, before anything is written.
    """
    from sgbt.bridges import export, push
    from sgbt.certify.rows.comparison import drawn_seed
    from sgbt.cli.verify_view import known_texts, sample_of
    from sgbt.models import load_classifier

    about: dict[str, Any] = {"language": language, "licence": licence}
    files = {"certificates": certificates, "attacks": attacks}
    chosen = sample_of(sample)
    seed = drawn_seed() if seed is None else seed
    if certificates or attacks:
        classifier = load_classifier(run)
        known = known_texts(texts, reading, run, classifier, split, data_home=data_home)
        about |= {"texts": known.texts, "labels": known.labels, "sample": chosen, "seed": seed}
        about |= {"table": opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)}
    export(run, out, **files, **about)
    for what, file in {"certificates proven again": certificates, "unbroken texts attacked again": attacks}.items():
        if file and chosen is not None:
            console.print(f"{what}: a sample of {sample}, drawn by seed {seed}")
    console.print(f"published in {out}; its card is {out / 'README.md'}")
    if push_to:
        console.print(push(out, push_to))
