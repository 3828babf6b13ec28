"""`sgbt publish`: a run in, a folder to share out, with a card that says what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli.screen import Screen

console = Screen()


def publish_(
    run: Annotated[Path, typer.Argument(help="Folder of a trained model; see sgbt train.")],
    out: Annotated[Path, typer.Option(help="Folder to write; one that was published before is replaced.")],
    certificates: Annotated[Path | None, typer.Option(help="Rows that sgbt certify --out wrote, for the card.")] = None,
    attacks: Annotated[Path | None, typer.Option(help="Rows that sgbt attack --out wrote, for the card.")] = None,
    language: Annotated[str, typer.Option(help="Language of the texts, as the hub abbreviates it.")] = "en",
    licence: Annotated[str | None, typer.Option(help="Licence of the model, as the hub abbreviates it.")] = None,
    push_to: Annotated[
        str | None, typer.Option("--push", help="Also upload it to this repository of the Hugging Face hub, private.")
    ] = None,
) -> None:
    """Write a model as the Hugging Face hub has them: weights, words, and a card with its figures."""
    from sgbt.bridges import export, push

    export(run, out, certificates=certificates, attacks=attacks, language=language, licence=licence)
    console.print(f"published in {out}; its card is {out / 'README.md'}", soft_wrap=True)
    if push_to:
        console.print(push(out, push_to), soft_wrap=True)
