"""`sgbt data`: what real data there is, where it comes from, and whether it is the real thing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sgbt.cli import options as opt
from sgbt.cli.options import DataHome
from sgbt.cli.reading import Reading
from sgbt.cli.screen import ProgressBars, Screen
from sgbt.core.errors import ResourceError
from sgbt.resources import CATALOGUE, Located, UnavailableError, check, get, locate

app = typer.Typer(help="Fetch, list, check and describe real data.", no_args_is_help=True, add_completion=False)

console = Screen()
_VERDICTS = {
    True: "genuine",
    False: "differs from the published content",
    None: "not verified (it has no fingerprint to compare with)",
}


@app.command("list")
def list_(data_home: DataHome = None) -> None:
    """Show every resource: what it is, its licence, where it lies, and who can supply it."""
    for resource in CATALOGUE.values():
        found = locate(resource.name, data_home=data_home)
        here = "not here"
        if found:
            checked = "" if found.verified else " not verified,"
            here = f"[green]here[/green],{checked} {_size(found)}: {escape(str(found.paths[0].parent))}"
        providers = [f"{p.name} ({p.size / 1e6:,.0f} MB)" if p.size else p.name for p in resource.providers]
        console.print(f"[bold]{resource.name}[/bold]  {resource.title}", markup=True)
        console.print(f"    {here}", markup=True)
        console.print(f"    licence: {resource.licence}")
        console.print(f"    looked for in: {'; '.join(['data home', *providers])}")


@app.command("get")
def get_(
    name: Annotated[str, typer.Argument(help="A resource; `sgbt data list` shows them.")], data_home: DataHome = None
) -> None:
    """Fetch a resource, unless it is here already; say which providers were tried and why each failed."""
    try:
        with ProgressBars() as bars:
            located = get(name, data_home=data_home, progress=bars)
    except UnavailableError as problem:
        _tell_attempts(problem)
        raise
    _tell_attempts(located)
    console.print(f"{name}: {_size(located)} from {located.provider}")
    for path in located.paths:
        console.print(f"  {path}")


@app.command("verify")
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Resources to check; all that are here, if none is named.")
    ] = None,
    data_home: DataHome = None,
) -> None:
    """Check that what lies on disk is the published content."""
    wrong = []
    for name in names or list(CATALOGUE):
        copies = check(name, data_home=data_home)
        for copy in copies:
            console.print(f"{name}: {_VERDICTS[copy.genuine]}: {copy.place}")
        wrong += [(name, copy.place) for copy in copies if copy.genuine is False]
        if names and not copies:
            raise ResourceError(expected=name, got="no copy of it on this machine", remedy=f"run: sgbt data get {name}")
    if wrong:
        raise ResourceError(
            expected="the published content",
            got="another one",
            where=" and ".join(str(place) for _, place in wrong),
            remedy=f"remove it and run: sgbt data get {wrong[0][0]}",
        )


@app.command("describe")
@opt.reads()
def describe(
    data: opt.Data,
    reading: Reading,
    vectors: opt.Vectors = "glove",
    substitutions: opt.Substitutions = "auto",
    data_home: DataHome = None,
) -> None:
    """Show a dataset's splits, how many of its words have vectors, and how many an adversary may replace."""
    from sgbt.cli.data_view import describe_dataset, describe_substitutions, describe_vectors

    dataset = replace(reading, data=data).load(data_home=data_home)
    chosen = opt.vectors_of(vectors, data_home=data_home)
    table = opt.table_of(substitutions, chosen, data_home=data_home)
    describe_dataset(dataset, console)
    describe_vectors(dataset, chosen, console)
    if table is not None:
        describe_substitutions(dataset, table, console)


@app.command("reach")
@opt.reads()
def reach(
    data: opt.Data,
    reading: Reading,
    substitutions: Annotated[
        list[str],
        typer.Option(help="A table by name, with options and unions as everywhere; may be given several times."),
    ],
    vectors: opt.Vectors = "glove",
    out: Annotated[Path | None, typer.Option(help="A file for the rows, one JSON line for each table.")] = None,
    data_home: DataHome = None,
) -> None:
    """Show what substitution tables reach in a dataset's test texts: words, running words, and texts."""
    from sgbt.cli.data_view import reach_of, show_reach
    from sgbt.core.files import atomic_write

    dataset = replace(reading, data=data).load(data_home=data_home)
    chosen = opt.vectors_of(vectors, data_home=data_home)
    rows = []
    for name in substitutions:
        table = opt.table_of(name, chosen, data_home=data_home)
        if table is not None:
            rows.append(reach_of(dataset, table, name=name, vectors=chosen))
            show_reach(rows[-1], console)
    if out is not None:
        with atomic_write(out) as stream:
            stream.write("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode())


def _size(located: Located) -> str:
    files = [file for path in located.paths for file in (path.iterdir() if path.is_dir() else [path])]
    return f"{sum(file.stat().st_size for file in files) / 1e6:,.1f} MB"


def _tell_attempts(outcome: Located | UnavailableError) -> None:
    for attempt in outcome.attempts:
        console.print(f"  {attempt.provider}: {attempt.outcome}")
