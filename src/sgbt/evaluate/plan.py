"""The plan of a benchmark, kept beside its results: which units make up which run, and what distinguishes runs.

With it a report needs neither data nor the grid's file, and a changed configuration, whose units have other keys, can
never borrow the results of an old one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sgbt.core.documents import is_there, read_json_object
from sgbt.core.errors import EvaluationError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.files import atomic_write
from sgbt.evaluate.grid import Cell, Grid
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.record import RunOfCell
from sgbt.evaluate.unit import Unit, cell_units, training_unit

PLAN = "plan.json"


@dataclass(frozen=True)
class PlannedRun(RunOfCell):
    """One run to be: a cell against one substitution table. `units` are keys, attacks under their method's name."""

    command: str
    units: dict[str, str]

    @property
    def place(self) -> tuple[str, str, str, str, int, str]:
        """What distinguishes runs: a newer plan replaces an older one of the same place."""
        return self.grid, self.dataset, self.model, self.label, self.seed, self.substitutions["name"]


@dataclass(frozen=True)
class Plan:
    """All runs that a folder knows of, and of each grid its title and the pairs of methods it compares."""

    grids: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: tuple[PlannedRun, ...] = ()

    def merged(self, newer: Plan, *, whole: bool) -> Plan:
        """Both plans; the newer one's runs replace those of the same place, and if it is `whole` all of its grid's."""
        kept = [run for run in self.runs if not whole or run.grid not in newer.grids]
        found = {run.place: run for run in (*kept, *newer.runs)}
        return Plan(self.grids | newer.grids, tuple(found.values()))

    def save(self, folder: Path) -> None:
        """Write the plan; all or nothing."""
        content = {"grids": self.grids, "runs": [asdict(run) for run in self.runs]}
        with atomic_write(folder / PLAN) as stream:
            stream.write((json.dumps(content, indent=1, sort_keys=True) + "\n").encode())

    @staticmethod
    def load(folder: Path) -> Plan:
        """The plan in a folder; an empty one where there is none."""
        path, expected = folder / PLAN, "a plan that sgbt bench wrote"
        if not is_there(path):
            return Plan()
        content = read_json_object(path, kind=EvaluationError, expected=expected)
        try:
            for run in content["runs"]:
                refuse_odd_fields(PlannedRun, run, kind=EvaluationError, where=str(path))
            return Plan(dict(content["grids"]), tuple(PlannedRun(**run) for run in content["runs"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise EvaluationError(expected=expected, got=f"a fault: {problem}", where=str(path)) from problem


def plan_of(grid: Grid, cells: Sequence[Cell], materials: Materials, *, given: str) -> Plan:
    """The plan of some cells; `given` is how the command line named the grid."""
    runs = tuple(run for cell in cells for run in _runs(grid, cell, materials, given))
    about = {"title": grid.title, "pairs": [list(pair) for pair in grid.pairs]}
    return Plan({grid.name: about}, runs)


def _runs(grid: Grid, cell: Cell, materials: Materials, given: str) -> list[PlannedRun]:
    units = cell_units(cell, materials)
    training = training_unit(cell, materials).spec
    config = {name: training[name] for name in ("training", "model_options", "objective_options")}
    config |= {"vectors": Path(cell.vectors).name, "tiers": list(cell.tiers), "certify": cell.certify}
    config |= {"attack_options": {name: dict(options) for name, options in cell.attack_options.items()}}
    config |= {"sample": cell.sample, "sample_seed": cell.sample_seed, "max_queries": cell.max_queries}
    config |= {"sample_correct": True} if cell.sample_correct else {}
    config |= {"threats": list(cell.threats)} if cell.threats else {}
    config |= {} if cell.last_words is None else {"last_words": cell.last_words}
    config |= {"trained_for": Path(cell.substitutions).name, "split": cell.dataset.split}
    config |= {"train": cell.dataset.train, "dev": cell.dataset.dev, "test": cell.dataset.test}
    config |= {"start": asdict(cell.start)}
    runs = []
    for against in cell.against:
        table = materials.table(against, cell.vectors)
        runs.append(
            PlannedRun(
                grid=grid.name,
                dataset=cell.dataset.name,
                model=cell.model,
                objective=cell.method.objective,
                label=cell.method.label,
                seed=cell.seed,
                config=config,
                substitutions={"name": Path(against).name, "table": table.name, "hash": table.hash},
                data_hash=materials.dataset_hash(cell.dataset),
                command=f"sgbt bench {given} --only {cell.name} --out results/{grid.name}",
                units={_role(unit): unit.key for unit in units if unit.means["against"] in (None, against)},
            )
        )
    return runs


def _role(unit: Unit) -> str:
    what = unit.spec.get("method") or unit.spec.get("threat")
    return f"{unit.kind} {what}" if what else unit.kind
