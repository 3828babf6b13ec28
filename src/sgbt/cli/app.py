"""Putting the verbs together, and turning every expected problem into one sentence and an exit code."""

from __future__ import annotations

import ctypes
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sgbt.cli.screen import prepare_streams, say
from sgbt.cli.verbs import VERBS
from sgbt.core.errors import SgbtError
from sgbt.version import __version__

BAD_INPUT = 2
INTERRUPTED = 130
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises when the words of a command do not fit together."""


class _Commands(TyperGroup):
    """The verbs: listed by their summaries, loaded when one is called, ended quietly when a person interrupts them.

    (When the reader of the output goes away, as `head` does, rich and typer end quietly with exit code 1.)
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=verb.summary) for name, verb in VERBS.items()} | dict(
            self.commands
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that was called, now with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, VERBS[name].load(name) if name in VERBS else command, rest

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted; what was finished is kept, and the same command goes on from there.")
            sys.exit(INTERRUPTED)

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Parse and run; words that do not fit are one sentence as well."""
        try:
            sys.exit(super().main(*arguments, **(settings | {"standalone_mode": False})) or 0)
        except UsageError as problem:
            _tell_usage(problem)
            sys.exit(BAD_INPUT)
        except typer.Abort:
            sys.exit(INTERRUPTED)


app = typer.Typer(
    name="sgbt",
    cls=_Commands,
    help="Text classifiers that word substitution cannot fool.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(asked: bool) -> None:
    if asked:
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
    """Run the command line; an expected problem is one sentence on standard error and exit code 2.

    `--debug` may stand anywhere. What the operating system refuses is expected too: a disk that fills up, a folder
    that vanishes.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    keep_freed_memory()
    prepare_streams()
    try:
        app(args=arguments, prog_name="sgbt")
    except (SgbtError, OSError) as problem:
        if len(arguments) < len(sys.argv) - 1:
            raise
        say(str(problem) if isinstance(problem, SgbtError) else _refused(problem))
        sys.exit(BAD_INPUT)


def _tell_usage(problem: Any) -> None:
    """What does not fit in the words of a command; a command without any shows its help."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        problem.show()
        return
    said = problem.format_message()
    place = problem.ctx.command_path if problem.ctx else "sgbt"
    say(said if said.endswith("?") else f"{said.rstrip('.')}; see: {place} --help")


def _refused(problem: OSError) -> str:
    where = f" in {problem.filename}" if problem.filename else ""
    return f"expected to read or write, got {(problem.strerror or str(problem)).lower()}{where}."


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory instead of giving it back; elsewhere nothing happens.

    Tensors of some megabytes come and go with every batch. By default a thread's memory goes back to the system each
    time and is cleared page by page when it returns: with two threads that was a sixth of the time of certificates.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none, or ignore it
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 1 << 30)
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
