"""`sgbt bench`: a grid of models trained, attacked and certified, resumably, on this machine or a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.screen import Screen
from sgbt.core.errors import EvaluationError
from sgbt.core.registry import shipped_grids

console = Screen()
FAILED = 1
EXECUTORS = ("local", "ray")


def bench_(
    grid: Annotated[str, typer.Argument(help=f"One of {', '.join(shipped_grids())}, or a TOML file of your own.")],
    out: Annotated[Path, typer.Option(help="Folder for the results; the same command resumes.")],
    only: Annotated[
        str | None, typer.Option(help="Only the cells with such names, as dataset/model/method/seed: imdb/cnn/*.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the work, and the hours and disk it takes here; do nothing.")
    ] = False,
    executor: Annotated[str, typer.Option(help=f"Where the work is done: {' or '.join(EXECUTORS)}.")] = "local",
    address: opt.Address = None,
    workers: opt.WorkersOrCores = None,
    data_home: opt.DataHome = None,
) -> None:
    """Train, attack and certify every cell of a grid; exit code 1 if a unit of work failed."""
    from sgbt.cli.bench_view import BenchView, show_estimate, show_outcome
    from sgbt.core.machine import cores
    from sgbt.evaluate import bench, load_grid
    from sgbt.evaluate.estimate import estimate

    if executor not in EXECUTORS:
        raise EvaluationError(expected=f"one of {', '.join(EXECUTORS)}", got=repr(executor), where="--executor")
    if address and executor != "ray":
        raise EvaluationError(expected="--executor ray", got=executor, where="--address")
    chosen = load_grid(grid)
    if dry_run:
        console.print("trying every kind of work for a moment ...")
        show_estimate(estimate(chosen, out, only=only, data_home=data_home), workers or cores(), console)
        return
    with BenchView(chosen.title, workers or cores()) as view:
        ray = None
        if executor == "ray":
            from sgbt.evaluate.ray_cluster import RayExecutor

            ray = partial(RayExecutor, address=address, workers=workers, data_home=data_home)
        outcome = bench(grid, out, only=only, workers=workers, executor=ray, data_home=data_home, listener=view)
    show_outcome(outcome, out, console)
    if outcome.failed:
        raise typer.Exit(FAILED)
