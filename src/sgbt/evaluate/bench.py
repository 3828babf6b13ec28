"""bench: a grid in; trained, attacked and certified models out, as rows and run records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sgbt.evaluate.gather import gather
from sgbt.evaluate.grid import Grid
from sgbt.evaluate.grid_file import SHIPPED, load_grid
from sgbt.evaluate.local import LocalExecutor
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.plan import Plan, plan_of
from sgbt.evaluate.record import RunRecord
from sgbt.evaluate.schedule import BenchListener, Executor, Schedule
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import Unit, units_of


@dataclass(frozen=True)
class Outcome:
    """What a benchmark came to: its records so far, and the errors of units that failed, by their titles."""

    records: list[RunRecord]
    units: list[Unit]
    failed: dict[str, str]


def bench(
    grid: Grid | str | Path,
    out: str | Path,
    *,
    only: str | None = None,
    executor: Callable[[Store], Executor] | None = None,
    workers: int | None = None,
    data_home: str | Path | None = None,
    listener: BenchListener | None = None,
) -> Outcome:
    """Do all work of a grid that `out` does not have yet, in processes of this machine unless an `executor` says
    otherwise.

    The same call after any interruption goes on where it stood: finished units are left alone, and no row is made
    twice. `only` is a pattern such as `imdb/cnn/*`. A unit that fails is written down and stops nothing but what needs
    its model.
    """
    given = str(grid) if not isinstance(grid, Grid) else grid.name
    grid = grid if isinstance(grid, Grid) else load_grid(grid)
    home = Path(data_home).expanduser() if data_home else None
    store, materials = Store(out), Materials(home)
    cells = grid.cells(only)
    units = units_of(cells, materials)
    plan = plan_of(grid, cells, materials, given=given if given in SHIPPED else f"{grid.name}.toml")
    with store.driven():
        Plan.load(store.folder).merged(plan, whole=only is None).save(store.folder)
        doing = executor(store) if executor else LocalExecutor(store, workers=workers, data_home=home)
        schedule = Schedule(units, store, doing, listener or BenchListener())
        try:
            schedule.run()
        finally:
            doing.close()
        records = gather(store)
    titles = {unit.key: unit.title for unit in units}
    return Outcome(records, units, {titles[key]: error for key, error in schedule.failed.items()})
