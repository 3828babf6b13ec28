"""Doing one unit of work: the same result wherever and however often it is begun."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgbt.attacks import AttackResult, attack
from sgbt.certify import certify
from sgbt.certify.edits import certify_against
from sgbt.core.errors import EvaluationError
from sgbt.core.files import atomic_write
from sgbt.core.machine import peak_bytes
from sgbt.core.registry import MODELS
from sgbt.core.rows import write_rows
from sgbt.data import Split
from sgbt.evaluate.code_version import code_version, current_commit
from sgbt.evaluate.grid import DataSource
from sgbt.evaluate.materials import Materials, sample_rows
from sgbt.evaluate.store import MODEL, PREDICTIONS, ROWS, TIMES, Store, read_times
from sgbt.evaluate.unit import ATTACK, CERTIFY, PREDICT, THREAT, TRAIN, Unit
from sgbt.models import TextClassifier, load_classifier
from sgbt.threats import EmbeddingStart
from sgbt.training import Run, TrainingConfig, method_of, train
from sgbt.training.loop.checkpoint import FILE as CHECKPOINT
from sgbt.training.loop.listeners import Listener
from sgbt.version import __version__

OnProgress = Callable[[float], None]
"""Called with the share of a unit that is done, from 0 to 1."""


def perform(unit: Unit, store: Store, materials: Materials, progress: OnProgress = lambda _: None) -> None:
    """Do a unit, or go on with what an earlier process left of it, and write its result; a finished one is left alone.

    One thread computes: how sums are split over threads would show in the last digits.
    """
    store.begin(unit)
    with store.locked(unit):
        if store.finished(unit.key):
            return
        check_code(unit)
        torch.set_num_threads(1)
        began = time.perf_counter()
        measured = WORK[unit.kind](Workplace(unit, store, materials, progress))
        result = {
            "unit": unit.title,
            "seconds": time.perf_counter() - began,
            "peak_bytes": peak_bytes(),
            "commit": current_commit(),
            "sgbt": __version__,
        }
        store.finish(unit, result | measured)


@dataclass(frozen=True)
class Workplace:
    """A unit, and what is at hand to do it."""

    unit: Unit
    store: Store
    materials: Materials
    progress: OnProgress

    @property
    def folder(self) -> Path:
        """Where the unit's rows go."""
        return self.store.place(self.unit.key)

    @property
    def source(self) -> DataSource:
        """The dataset's name and place."""
        return DataSource(**self.unit.means["dataset"])

    def test_texts(self) -> tuple[Split, tuple[int, ...] | None]:
        """The test texts that the unit is about, and their numbers within test if they are a sample."""
        test = self.materials.dataset(self.source).test
        if "last_words" in self.unit.spec:
            test = test.last_words(self.unit.spec["last_words"])
        asked = self.unit.spec.get("sample")
        if asked and asked.get("correct"):
            return self._until_correct(test, asked["size"], seed=asked["seed"])
        rows = sample_rows(len(test), asked["size"], seed=asked["seed"]) if asked else None
        return (test if rows is None else test.take(rows)), rows

    def _until_correct(self, test: Split, size: int, *, seed: int) -> tuple[Split, tuple[int, ...]]:
        """Texts in a random order, the same for every model, until `size` of them are classified correctly."""
        order = np.random.default_rng(seed).permutation(len(test))
        predicted = self.classifier().predict(test.texts).probabilities.argmax(axis=1)
        correct = np.cumsum(predicted[order] == test.labels[order])
        drawn = tuple(sorted(order[: int(np.searchsorted(correct, size)) + 1].tolist()))
        return test.take(drawn), drawn

    def classifier(self) -> TextClassifier:
        """The model that the unit measures: the one that was trained for it, and no other in its place."""
        key = str(self.unit.needs)
        found = load_classifier(self.store.place(key) / MODEL)
        expected = (self.store.result(key) or {}).get("model_hash")
        if expected is not None and found.identity != expected:
            raise EvaluationError(
                expected=f"the model with identity {expected[:12]}",
                got=found.identity[:12],
                where=str(self.store.place(key) / MODEL),
                remedy="delete that folder; sgbt bench then trains it again",
            )
        return found

    def check_data(self) -> None:
        """That the data here is what the key names: another machine may have other files under the same name."""
        means, spec = self.unit.means, self.unit.spec
        found = {"data": self.materials.dataset_hash(self.source)}
        if spec.get("vectors"):
            found["vectors"] = self.materials.start_hash(*start_of(self.unit))
        if "table" in spec:
            found["table"] = self.materials.table(means["against"] or means["substitutions"], means["vectors"]).hash
        for name, hash_ in found.items():
            if hash_ != spec[name]:
                raise EvaluationError(
                    expected=f"the {name} with hash {spec[name][:12]}", got=f"hash {hash_[:12]}", where=self.unit.title,
                    remedy="give every machine the same files",
                )  # fmt: skip


def check_code(unit: Unit) -> None:
    """That this process runs the code that the key names."""
    if unit.spec["code"] != code_version(unit.kind):
        raise EvaluationError(
            expected=f"the code with version {unit.spec['code']}",
            got=f"version {code_version(unit.kind)}",
            where=f"the worker for {unit.title}",
            remedy="install one version of sgbt everywhere, and do not change it while a benchmark runs",
        )


def _train(at: Workplace) -> dict[str, Any]:
    at.check_data()
    clock = EpochClock(at.folder / TIMES, at.progress, at.unit.spec["training"]["epochs"])
    run = trained(at.unit, at.materials, out=at.folder / MODEL, listener=clock)
    (at.folder / MODEL / CHECKPOINT).unlink(missing_ok=True)  # the folder is complete: nothing is left to resume
    epochs = 1 + max((row["epoch"] for row in run.log.rows), default=-1)
    table = run.model.table.name if run.model.table else ""
    return {"epochs": epochs, "dev": run.dev, "table": table, "model_hash": run.model.identity}


def trained(unit: Unit, materials: Materials, *, out: Path, listener: Listener | None = None) -> Run:
    """The training that a unit of work describes, in a folder of its own."""
    spec, means = unit.spec, unit.means
    return train(
        untrained(unit, materials),
        materials.dataset(DataSource(**means["dataset"])),
        objective=method_of(spec["objective"], spec["objective_options"]),
        substitutions=materials.table(means["substitutions"], means["vectors"]),
        seed=spec["seed"],
        config=TrainingConfig(**spec["training"]),
        out=out,
        listener=listener,
        device="cpu",
    )


def untrained(unit: Unit, materials: Materials) -> Any:
    """The model of a training before its first step."""
    kind = MODELS[unit.spec["model"]]
    options = kind.Options(**unit.spec["model_options"])
    return kind.untrained(options, lambda: materials.start(*start_of(unit)))


def start_of(unit: Unit) -> tuple[str, EmbeddingStart, str]:
    """Vectors, what is made of them, and the table that takes part in it, as `Materials` knows them."""
    means = unit.means
    return means["vectors"], EmbeddingStart(**means["start"]), means["substitutions"]


class EpochClock:
    """A listener of the training loop that keeps the seconds of every epoch it saw from the first step to the last."""

    def __init__(self, path: Path, progress: OnProgress, epochs: int) -> None:
        self._path, self._progress, self._epochs = path, progress, epochs
        self._times: dict[str, float] = read_times(path)
        self._first, self._steps, self._seen, self._began = 0, 1, 0, 0.0

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self._first, self._steps, self._seen, self._began = number, steps, 0, time.perf_counter()

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self._seen += 1
        self._progress((self._first + (number + 1) / self._steps) / self._epochs)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended; one that an earlier process had begun has no time of its own."""
        if self._seen == self._steps:
            self._times[str(number)] = time.perf_counter() - self._began
            with atomic_write(self._path) as stream:
                stream.write(json.dumps(self._times).encode())


def _predict(at: Workplace) -> dict[str, Any]:
    at.check_data()
    test, _ = at.test_texts()
    classifier = at.classifier()
    predicted = classifier.predict(test.texts).probabilities.argmax(axis=1).tolist()
    answers = zip(test.labels.tolist(), predicted, strict=True)
    rows = ({"index": index, "label": label, "predicted": given} for index, (label, given) in enumerate(answers))
    write_rows(at.folder / ROWS, PREDICTIONS, rows)
    return {"texts": len(test), "model_hash": classifier.identity}


def _certify(at: Workplace) -> dict[str, Any]:
    at.check_data()
    test, rows = at.test_texts()
    table = at.materials.table(at.unit.means["against"], at.unit.means["vectors"])
    certify(
        at.classifier(),
        test,
        table,
        tiers=at.unit.spec["tiers"],
        out=at.folder / ROWS,
        listener=lambda done, of: at.progress(done / of),
    )
    return {"texts": len(test), "sample": rows, "table": table.name}


def _against_threat(at: Workplace) -> dict[str, Any]:
    at.check_data()
    test, rows = at.test_texts()
    threat = at.materials.threat(at.unit.spec["threat"], at.unit.means["vectors"])
    if threat.hash != at.unit.spec["threat_hash"]:
        raise EvaluationError(
            expected=f"the threat with hash {at.unit.spec['threat_hash'][:12]}", got=f"hash {threat.hash[:12]}",
            where=at.unit.title, remedy="give every machine the same files",
        )  # fmt: skip
    certify_against(
        at.classifier(), test, threat, out=at.folder / ROWS, listener=lambda done, of: at.progress(done / of)
    )
    return {"texts": len(test), "sample": rows}


def _attack(at: Workplace) -> dict[str, Any]:
    at.check_data()
    spec, (test, rows) = at.unit.spec, at.test_texts()
    table = at.materials.table(at.unit.means["against"], at.unit.means["vectors"])
    seen: list[int] = []

    def count(result: AttackResult) -> None:
        seen.append(result.index)
        at.progress(len(seen) / len(test))

    attack(
        at.classifier(),
        test,
        table,
        method=spec["method"],
        seed=spec["seed"],
        max_queries=spec["max_queries"],
        out=at.folder / ROWS,
        listener=count,
        **spec["attack_options"],
    )
    return {"texts": len(test), "sample": rows, "table": table.name}


WORK: dict[str, Callable[[Workplace], dict[str, Any]]] = {
    TRAIN: _train, PREDICT: _predict, CERTIFY: _certify, ATTACK: _attack, THREAT: _against_threat,
}  # fmt: skip
