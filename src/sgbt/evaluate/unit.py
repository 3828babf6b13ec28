"""Unit: one piece of work, named by the hash of all that determines its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from sgbt.attacks import method_named
from sgbt.core.registry import MODELS
from sgbt.evaluate.code_version import code_version
from sgbt.evaluate.grid import Cell
from sgbt.evaluate.materials import Materials
from sgbt.training import TrainingConfig, method_of, preset_for
from sgbt.training.config import with_options

TRAIN, PREDICT, CERTIFY, ATTACK, THREAT = "train", "predict", "certify", "attack", "threat"


@dataclass(frozen=True)
class Unit:
    """One training, or one measurement of a trained model.

    `spec` is what the result depends on: options in full, fingerprints of data, vectors and table, the code's version,
    and for a measurement the key of its training. `means` says where to find those things; a file that moves changes
    no result.
    """

    kind: str
    cell: str
    spec: dict[str, Any]
    means: dict[str, Any]

    @cached_property
    def key(self) -> str:
        """The name under which the result is kept."""
        return hashlib.sha256(json.dumps(self.spec, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def needs(self) -> str | None:
        """The key of the training whose model this measures."""
        found: str | None = self.spec.get("train")
        return found

    @property
    def title(self) -> str:
        """What a person calls it."""
        method = self.spec.get("method") or self.spec.get("threat")
        against = self.means.get("against")
        beside = f" against {against}" if against and against != self.means["substitutions"] else ""
        return f"{self.kind}{f' {method}' if method else ''} {self.cell}{beside}"

    @property
    def family(self) -> tuple[str, ...]:
        """Units of one family take about as long: the same work on the same kind of model and data."""
        what = self.spec.get("method") or self.spec.get("objective") or ""
        return self.kind, str(what), self.cell.split("/")[0], self.cell.split("/")[1]

    def to_json(self) -> str:
        """The unit as a worker receives it."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Unit:
        """The unit that `to_json` wrote."""
        return Unit(**json.loads(text))


def units_of(cells: Sequence[Cell], materials: Materials) -> list[Unit]:
    """The work of some cells, each piece once, trainings before what measures them."""
    found: dict[str, Unit] = {}
    for cell in cells:
        for unit in cell_units(cell, materials):
            found.setdefault(unit.key, unit)
    return list(found.values())


def cell_units(cell: Cell, materials: Materials) -> list[Unit]:
    """One training; the predictions for the whole test set; for each table certificates, and each attack."""
    training = training_unit(cell, materials)
    units = [training, _unit(PREDICT, cell, materials, train=training.key)]
    cut = {} if cell.last_words is None else {"last_words": cell.last_words}
    sample = None if cell.certify is None else {"size": cell.certify, "seed": cell.sample_seed}
    for threat in cell.threats if cell.certify != 0 else ():
        hashed = materials.threat(threat, cell.vectors).hash
        asked: dict[str, Any] = {"threat": threat, "threat_hash": hashed, "sample": sample} | cut
        units.append(_unit(THREAT, cell, materials, train=training.key, against=cell.against[0], **asked))
    for against in cell.against:
        table = materials.table(against, cell.vectors).hash
        if cell.certify != 0:
            asked = {"tiers": list(cell.tiers), "sample": sample} | cut
            units.append(_unit(CERTIFY, cell, materials, train=training.key, table=table, against=against, **asked))
        for method in cell.attacks_with(against):
            asked = cut | {
                "method": method,
                "attack_options": dict(cell.attack_options.get(method, {})),
                "options": repr(method_named(method, **cell.attack_options.get(method, {}))),
                "seed": cell.seed,
                "max_queries": cell.max_queries,
                "sample": {"size": cell.sample, "seed": cell.sample_seed}
                | ({"correct": True} if cell.sample_correct else {}),
            }
            units.append(_unit(ATTACK, cell, materials, train=training.key, table=table, against=against, **asked))
    return units


def training_unit(cell: Cell, materials: Materials) -> Unit:
    """The training of a cell, every option written out."""
    options = MODELS[cell.model].Options()
    options = replace(
        with_options(options, dict(cell.model_options), "model"), classes=materials.dataset(cell.dataset).classes
    )
    method = method_of(cell.method.objective, cell.objective_options)
    config = training_config(cell)
    training = {name: value for name, value in asdict(config).items() if name != "checkpoint_seconds"}
    return _unit(
        TRAIN,
        cell,
        materials,
        model=cell.model,
        model_options=_plain(asdict(options)),
        objective=cell.method.objective,
        objective_options=_plain(method.options),
        training=_plain(training),
        seed=cell.seed,
        vectors=materials.start_hash(cell.vectors, cell.start, cell.substitutions) if options.reads_vectors else None,
        table=materials.table(cell.substitutions, cell.vectors).hash,
    )


def training_config(cell: Cell) -> TrainingConfig:
    """The preset of the cell's model and dataset with the cell's own options."""
    config = with_options(preset_for(cell.model, cell.dataset.source), dict(cell.training), "training")
    assert isinstance(config, TrainingConfig)
    return config


def _unit(kind: str, cell: Cell, materials: Materials, *, against: str | None = None, **asked: Any) -> Unit:
    spec = {
        "kind": kind,
        "data": materials.dataset_hash(cell.dataset),
        "code": code_version(kind),
        "libraries": [torch.__version__, np.__version__],
        **asked,
    }
    means = {
        "dataset": asdict(cell.dataset),
        "vectors": cell.vectors,
        "start": asdict(cell.start),
        "substitutions": cell.substitutions,
        "against": against,
    }
    return Unit(kind, cell.name, spec, means)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON has them."""
    plain: dict[str, Any] = json.loads(json.dumps(options))
    return plain
