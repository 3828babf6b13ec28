"""`sgbt bench`: a grid of models trained, attacked and certified, resumably, on this machine or a cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sgbt.cli import options as opt
from sgbt.cli.bench_view import BenchView
from sgbt.errors import EvaluationError
from sgbt.evaluate import SHIPPED, Outcome, bench, load_grid
from sgbt.evaluate.estimate import Estimate, estimate
from sgbt.evaluate.local import cores

console = Console(highlight=False)
FAILED = 1
EXECUTORS = ("local", "ray")


def bench_(
    grid: Annotated[str, typer.Argument(help=f"One of {', '.join(SHIPPED)}, or a TOML file of your own.")],
    out: Annotated[Path, typer.Option(help="Folder for the results; the same command goes on where it stood.")],
    only: Annotated[
        str | None, typer.Option(help="Only the cells with such names, as dataset/model/method/seed: imdb/cnn/*.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the work, and the hours and disk it takes here; do nothing.")
    ] = False,
    executor: Annotated[str, typer.Option(help=f"Who does the work: {' or '.join(EXECUTORS)}.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster to use, as ray names it: auto, ray://...")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes at once; otherwise one for each core for which there is memory."),
    ] = None,
    data_home: opt.DataHome = None,
) -> None:
    """Train, attack and certify every cell of a grid; exit code 1 if a unit of work failed."""
    if executor not in EXECUTORS:
        raise EvaluationError(wanted=f"one of {', '.join(EXECUTORS)}", got=repr(executor), where="--executor")
    if address and executor != "ray":
        raise EvaluationError(wanted="--executor ray", got=executor, where="--address")
    chosen = load_grid(grid)
    if dry_run:
        _show_estimate(estimate(chosen, out, only=only, data_home=data_home), workers or cores())
        return
    with BenchView(chosen.title, workers or cores()) as view:
        if executor == "ray":
            from sgbt.evaluate.ray_cluster import RayExecutor

            outcome = bench(
                grid,
                out,
                only=only,
                executor=lambda store: RayExecutor(store, address=address, workers=workers, data_home=data_home),
                data_home=data_home,
                listener=view,
            )
        else:
            outcome = bench(grid, out, only=only, workers=workers, data_home=data_home, listener=view)
    _show_outcome(outcome, out)
    if outcome.failed:
        raise typer.Exit(FAILED)


def _show_outcome(outcome: Outcome, out: Path) -> None:
    for title, error in outcome.failed.items():
        console.print(f"failed: {title}: {error}", soft_wrap=True, markup=False)
    done = len(outcome.units) - len(outcome.failed)
    console.print(f"{done:,} of {len(outcome.units):,} units done, {len(outcome.failed):,} failed", soft_wrap=True)
    console.print(f"{len(outcome.records):,} run records in {out / 'records.jsonl'}", soft_wrap=True, markup=False)
    console.print(f"for tables and plots: sgbt report {out} --out report.html", soft_wrap=True, markup=False)


def _show_estimate(found: Estimate, workers: int) -> None:
    table = Table("work", "units", "done before", "hours of the others, at most", box=None, pad_edge=False)
    done = Counter(each.unit.kind for each in found.units if each.done)
    for kind in dict.fromkeys(each.unit.kind for each in found.units):
        own = [each for each in found.units if each.unit.kind == kind]
        hours = sum(each.seconds for each in own if not each.done) / 3600
        table.add_row(kind, f"{len(own):,}", f"{done[kind]:,}", f"{hours:,.2f}")
    console.print(table)
    console.print(
        f"{len(found.units):,} units; at most {found.hours:,.1f} hours of one core, so {found.hours / workers:,.1f} "
        f"hours with {workers} of this machine's cores; {found.disk / 2**30:,.2f} GiB of disk",
        soft_wrap=True,
    )
    console.print(found.note, soft_wrap=True)
