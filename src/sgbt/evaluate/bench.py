"""bench: a grid in; trained, attacked and certified models out, as rows and run records.

One published model is trained again, as it was, by the name of its cell: `grid:dataset/model/method/seed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sgbt.core.errors import EvaluationError
from sgbt.evaluate.gather import gather
from sgbt.evaluate.grid import Cell, DataSource, Grid
from sgbt.evaluate.grid_file import SHIPPED, load_grid
from sgbt.evaluate.local import LocalExecutor
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.plan import Plan, plan_of
from sgbt.evaluate.record import RunRecord
from sgbt.evaluate.schedule import BenchListener, Executor, Schedule
from sgbt.evaluate.store import Store
from sgbt.evaluate.toy import CLASSES
from sgbt.evaluate.unit import Unit, training_unit, units_of
from sgbt.evaluate.working import trained
from sgbt.training import Run
from sgbt.training.loop.listeners import Listener


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


@dataclass(frozen=True, eq=False)
class Published:
    """One cell of a grid: the same data, options and seed give the same weights."""

    cell: Cell
    unit: Unit
    materials: Materials

    @staticmethod
    def named(name: str, *, data_home: Path | None = None) -> Published:
        """From a name such as `imdb-linear:imdb/grams/certified/0`; whatever follows a unique beginning may be left."""
        grid, _, pattern = name.partition(":")
        cells = load_grid(grid).cells(pattern)
        if len(cells) > 1:
            raise EvaluationError(
                expected="the name of one cell", got=f"{len(cells)} that match {pattern!r}", where=f"the grid {grid}",
                remedy=f"say which: {grid}:{cells[0].name}",
            )  # fmt: skip
        materials = Materials(data_home)
        return Published(cells[0], training_unit(cells[0], materials), materials)

    @property
    def source(self) -> DataSource:
        """The data it is trained on."""
        return self.cell.dataset

    @property
    def reads_whole(self) -> bool:
        """Whether it reads the whole of a dataset that other commands can read as well."""
        source = self.source
        uncut = source.train is None and source.test is None and source.dev in (None, 0)
        return uncut and source.source not in CLASSES

    def train(self, out: Path, listener: Listener | None = None) -> Run:
        """Train it; the same call goes on where an interrupted one stood."""
        return trained(self.unit, self.materials, out=out, listener=listener)
