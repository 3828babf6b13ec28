"""A published model by the name of its cell, `grid:dataset/model/method/seed`: trained again as it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgbt.core.errors import EvaluationError
from sgbt.evaluate.grid import Cell, DataSource
from sgbt.evaluate.grid_file import load_grid
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.toy import CLASSES
from sgbt.evaluate.unit import Unit, training_unit
from sgbt.evaluate.working import trained
from sgbt.training import Run
from sgbt.training.loop.listeners import Listener


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
