"""Putting the verbs together, and turning every expected problem into one sentence and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from sgbt.cli import attack, certify, data, demo, explain, serve, train
from sgbt.errors import SgbtError
from sgbt.version import __version__

BAD_INPUT = 2
INTERRUPTED = 130


class _Commands(TyperGroup):
    """The commands, and how they end when a person interrupts them.

    (When the reader of the output goes away, as `head` does, rich and typer end quietly with exit code 1.)
    """

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(
                "sgbt: interrupted; what was finished is kept, and the same command goes on from there.", err=True
            )
            sys.exit(INTERRUPTED)


app = typer.Typer(
    name="sgbt",
    cls=_Commands,
    help="Text classifiers that word substitution cannot fool.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")
app.command("train")(train.train_)
app.command("certify")(certify.certify_)
app.command("explain")(explain.explain_)
app.command("attack")(attack.attack_)
app.command("serve")(serve.serve_)
app.command("demo")(demo.demo)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sgbt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Text classifiers that word substitution cannot fool."""


def main() -> None:
    """Run the command line; an expected problem is one sentence on standard error and exit code 2."""
    debug = "--debug" in sys.argv[1:]
    try:
        app()
    except SgbtError as problem:
        if debug:
            raise
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"sgbt: {problem}", markup=False, emoji=False)
        sys.exit(BAD_INPUT)
