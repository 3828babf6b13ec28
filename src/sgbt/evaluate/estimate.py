"""What a benchmark will take: its units, and hours and disk on this machine, from a short calibration.

Every kind of training takes a few real steps; its model then certifies, is attacked on and predicts a few real texts.
Each figure is what the work takes at most: training goes on to the last epoch, no text is certified by a cheap tier,
no attack succeeds early.
"""

from __future__ import annotations

import copy
import json
import math
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgbt.attacks import attack
from sgbt.certify import certify
from sgbt.certify.edits import certify_against
from sgbt.core.errors import SgbtWarning
from sgbt.data import Split, TextDataset
from sgbt.evaluate.grid import Cell, Grid
from sgbt.evaluate.materials import Materials, sample_rows
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import ATTACK, CERTIFY, PREDICT, THREAT, TRAIN, Unit, cell_units, training_config
from sgbt.evaluate.working import untrained
from sgbt.models import TextClassifier
from sgbt.models.blueprint import parts_of
from sgbt.models.identity import weights_of
from sgbt.resources import UnavailableError
from sgbt.threats import SubstitutionTable
from sgbt.training import method_of, train
from sgbt.training.beginning import adopt_vocabulary

STEPS = 3
"""Steps of every kind of training; the first is not counted."""
SIZES = ("batch_size", "max_length", "minimum_count")
"""What a step's time depends on, of the options of training; rates and decays change only what is learned."""
CERTIFIED_TEXTS, ATTACKED_TEXTS, PREDICTED_TEXTS = 2, 1, 64
BYTES_PER_ROW = {PREDICT: 45, CERTIFY: 700, ATTACK: 600, THREAT: 500}
"""About what a row takes beside its text; an attack's row holds the text twice."""

NOTE = (
    "From processor time measured now, or from units of the same kind that were done before. At most: training may "
    "stop early, and most texts are certified or broken long before the last tier or query."
)


class EstimateMaterials(Materials):
    """What times are estimated with: where the published list cannot be had, the table that is made here."""

    def _table(self, name: str, vectors: str) -> SubstitutionTable:
        try:
            return super()._table(name, vectors)
        except UnavailableError:
            if (other := name.replace("counter_fitted", "counter_fit")) == name:
                raise
            sentence = f"{name} cannot be had here: times are estimated with {other}, and the grid itself needs {name}."
            warnings.warn(sentence, SgbtWarning, stacklevel=2)
            return super()._table(other, vectors)


@dataclass(frozen=True, slots=True)
class UnitCost:
    """A unit, whether it is done, and what it takes if not."""

    unit: Unit
    done: bool
    seconds: float
    disk: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all units take."""

    units: tuple[UnitCost, ...]
    note: str = NOTE

    @property
    def hours(self) -> float:
        """Hours of one core for what is not done."""
        return sum(each.seconds for each in self.units if not each.done) / 3600

    @property
    def disk(self) -> float:
        """Bytes for what is not done."""
        return sum(each.disk for each in self.units if not each.done)


def estimate(grid: Grid, out: str | Path, *, only: str | None = None, data_home: str | Path | None = None) -> Estimate:
    """The units of a grid, and what those that `out` does not have would take."""
    store, materials = Store(out), EstimateMaterials(Path(data_home).expanduser() if data_home else None)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as workers compute
    try:
        work = [
            (unit, cell, units[0])
            for cell in grid.cells(only)
            for units in [cell_units(cell, materials)]
            for unit in units
        ]
        known = _known_seconds([unit for unit, _, _ in work], store)
        measure = _Calibration(materials)
        found: dict[str, UnitCost] = {}
        for unit, cell, training in work:
            if unit.key in found:
                continue
            if store.finished(unit.key):
                found[unit.key] = UnitCost(unit, True, 0.0, 0.0)
                continue
            seconds, disk = measure.cost(unit, cell, training)
            found[unit.key] = UnitCost(unit, False, known.get(unit.family, seconds), disk)
    finally:
        torch.set_num_threads(threads)
    return Estimate(tuple(found.values()))


def _known_seconds(units: Sequence[Unit], store: Store) -> dict[tuple[str, ...], float]:
    """The mean seconds of finished units, by family."""
    seconds: dict[tuple[str, ...], list[float]] = {}
    for unit in units:
        if (result := store.result(unit.key)) is not None:
            seconds.setdefault(unit.family, []).append(float(result["seconds"]))
    return {family: statistics.fmean(each) for family, each in seconds.items()}


class _Calibration:
    """Times of the kinds of work that were tried, each once."""

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._trainings: dict[str, _Trained] = {}
        self._per_text: dict[tuple[str, ...], float] = {}

    def cost(self, unit: Unit, cell: Cell, training: Unit) -> tuple[float, float]:
        """Seconds and bytes of a unit."""
        dataset = self._materials.dataset(cell.dataset)
        if unit.kind == TRAIN:
            trained = self._trained(cell, training)
            config = training_config(cell)
            steps = math.ceil(len(dataset.train) / config.batch_size) * config.epochs
            dev = 1 + len(dataset.dev) / len(dataset.train)  # a dev text costs less than a train text
            return trained.step_seconds * steps * dev, trained.bytes
        asked = unit.spec.get("sample")
        texts = min(len(dataset.test), asked["size"]) if asked else len(dataset.test)
        written = BYTES_PER_ROW[unit.kind] + (2 * _letters(dataset.test) if unit.kind == ATTACK else 0)
        return self._seconds_per_text(unit, cell, training) * texts, written * texts

    def _trained(self, cell: Cell, training: Unit) -> _Trained:
        spec = training.spec
        alike = [spec[name] for name in ("data", "model", "model_options", "objective")]
        sizes = {name: spec["training"][name] for name in SIZES}
        key = json.dumps([*alike, sizes, _switches(training)], sort_keys=True)
        if key not in self._trainings:
            self._trainings[key] = _train_briefly(cell, training, self._materials)
        return self._trainings[key]

    def _seconds_per_text(self, unit: Unit, cell: Cell, training: Unit) -> float:
        spec = training.spec
        asked = (unit.kind, *(str(unit.spec.get(name)) for name in ("options", "tiers", "threat")))
        key = (
            *asked,
            spec["data"],
            spec["model"],
            json.dumps([spec["model_options"], _switches(training)], sort_keys=True),
        )
        if key not in self._per_text:
            self._per_text[key] = self._measured(unit, self._trained(cell, training).classifier, cell)
        return self._per_text[key]

    def _measured(self, unit: Unit, classifier: TextClassifier, cell: Cell) -> float:
        test = self._materials.dataset(cell.dataset).test
        count = {PREDICT: PREDICTED_TEXTS, ATTACK: ATTACKED_TEXTS}.get(unit.kind, CERTIFIED_TEXTS)
        texts = _typical(test, count)
        began = time.process_time()
        if unit.kind == PREDICT:
            classifier.predict(texts)
        elif unit.kind == THREAT:
            threat = self._materials.threat(unit.spec["threat"], cell.vectors)
            began = time.process_time()
            certify_against(classifier, texts, threat)
        elif unit.kind == CERTIFY:
            table = self._materials.table(unit.means["against"], cell.vectors)
            began = time.process_time()
            certify(classifier, texts, table, tiers=unit.spec["tiers"])
        else:
            table = self._materials.table(unit.means["against"], cell.vectors)
            victim = _unbreakable(classifier)
            attack(victim, texts, table, method=unit.spec["method"], max_queries=unit.spec["max_queries"],
                   **unit.spec["attack_options"])  # fmt: skip
        return (time.process_time() - began) / max(len(texts), 1)


def _switches(training: Unit) -> dict[str, object]:
    """Options of the objective that may change the model; weights of penalties change only what it learns."""
    options = training.spec["objective_options"]
    return {name: value for name, value in options.items() if not isinstance(value, float)}


@dataclass(frozen=True, eq=False)
class _Trained:
    step_seconds: float
    classifier: TextClassifier
    bytes: float


def _train_briefly(cell: Cell, training: Unit, materials: Materials) -> _Trained:
    """A few steps on real batches, with the vocabulary of all of train."""
    dataset, table = materials.dataset(cell.dataset), materials.table(cell.substitutions, cell.vectors)
    config = replace(training_config(cell), epochs=1)
    model, spec = untrained(training, materials), training.spec
    vocabulary = adopt_vocabulary(copy.copy(model), None, dataset.train.tokenised().counts(), table, config)
    few = TextDataset(
        dataset.name, dataset.label_names, _taken(dataset.train, STEPS * config.batch_size, seed=1),
        dataset.dev[:8], dataset.test[:0],
    )  # fmt: skip
    objective = method_of(spec["objective"], spec["objective_options"])
    clock = _StepClock()
    run = train(
        model, few, objective=objective, substitutions=table, config=config, vocabulary=vocabulary, listener=clock,
        device="cpu",
    )  # fmt: skip
    size = sum(tensor.numel() * tensor.element_size() for tensor in weights_of(run.model.model).values())
    return _Trained(clock.step_seconds, run.model, size)


class _StepClock:
    """A listener that keeps the seconds of every step."""

    def __init__(self) -> None:
        self._times: list[float] = []

    @property
    def step_seconds(self) -> float:
        """The median step, the first left out where there are others."""
        steps = [after - before for before, after in zip(self._times, self._times[1:], strict=False)]
        return statistics.median(steps[1:] or steps or [0.0])

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self._times.append(time.process_time())

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self._times.append(time.process_time())

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended."""


def _unbreakable(classifier: TextClassifier) -> TextClassifier:
    """The same model with so much said for its first label that no attack succeeds: each then runs to its end."""
    model = copy.deepcopy(classifier.model)
    parts: Sequence[Any] = parts_of(model)
    with torch.no_grad():
        for part in parts:
            getattr(part, "head", part).bias[0] += 1e3
    return replace(classifier, model=model)


def _taken(split: Split, count: int, *, seed: int) -> Split:
    rows = sample_rows(len(split), count, seed=seed)
    return split if rows is None else split.take(rows)


def _typical(split: Split, count: int) -> tuple[str, ...]:
    """Texts whose length is nearest to the median: one long text by chance would say little."""
    lengths = split.tokenised().ids.lengths
    if not len(split):
        return ()
    order = np.argsort(np.abs(lengths - np.median(lengths)), kind="stable")
    return tuple(split.texts[row] for row in order[:count])


def _letters(split: Split) -> float:
    return statistics.fmean(len(text) for text in split.texts[:1000]) if len(split) else 0.0
