"""`sgbt publish`: a run in, a folder to share out, with a card whose figures were checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.certify import Table_
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.cli.verify import SampleOption, SeedOption

console = Screen()


def publish_(
    run: Annotated[Path, typer.Argument(help="Folder of a trained model; see sgbt train.")],
    out: Annotated[Path, typer.Option(help="Folder to write; one that was published before is replaced.")],
    certificates: Annotated[Path | None, typer.Option(help="Rows that sgbt certify --out wrote, for the card.")] = None,
    attacks: Annotated[Path | None, typer.Option(help="Rows that sgbt attack --out wrote, for the card.")] = None,
    sample: SampleOption = "100",
    seed: SeedOption = None,
    data: opt.DataOfRun = "",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    split: Annotated[str, typer.Option(help="Which texts were certified: train, dev or test.")] = "test",
    texts: Annotated[
        Path | None, typer.Option(help="A JSONL file with index and text of each row, in place of a dataset.")
    ] = None,
    substitutions: Table_ = "model",
    vectors: opt.Vectors = "glove",
    language: Annotated[str, typer.Option(help="Language of the texts, as the hub abbreviates it.")] = "en",
    licence: Annotated[str | None, typer.Option(help="Licence of the model, as the hub abbreviates it.")] = None,
    push_to: Annotated[
        str | None, typer.Option("--push", help="Also upload it to this repository of the Hugging Face hub, private.")
    ] = None,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Write a model as the Hugging Face hub has them: weights, words, and a card with its figures.

    Figures are not believed: rows are checked, a sample of the certificates is proven again, and a sample of the
    texts that attacks left unbroken is attacked again, before anything is written.
    """
    from sgbt.bridges import export, push
    from sgbt.certify.rows.comparison import drawn_seed
    from sgbt.cli import verify_parts as parts
    from sgbt.cli.certify_parts import table_for
    from sgbt.models import load_classifier

    about: dict[str, Any] = {"language": language, "licence": licence}
    files = {"certificates": certificates, "attacks": attacks}
    chosen = parts.sample_of(sample)
    seed = drawn_seed() if seed is None else seed
    if certificates or attacks:
        classifier = load_classifier(run)
        reading = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding)
        known = parts.texts_of(texts, reading, run, classifier, split, data_home=data_home)
        about |= {"texts": known.texts, "labels": known.labels, "sample": chosen, "seed": seed}
        about |= {"table": table_for(classifier, substitutions, vectors=vectors, data_home=data_home)}
    export(run, out, **files, **about)
    for what, file in {"certificates proven again": certificates, "unbroken texts attacked again": attacks}.items():
        if file and chosen is not None:
            console.print(f"{what}: a sample of {sample}, drawn by seed {seed}", soft_wrap=True)
    console.print(f"published in {out}; its card is {out / 'README.md'}", soft_wrap=True)
    if push_to:
        console.print(push(out, push_to), soft_wrap=True)
