"""Desk: the loaded models, and what can be asked of them: predict, certify, attack, and certify a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgbt.attacks import attack
from sgbt.certify import Prepared
from sgbt.core.errors import ServeError
from sgbt.models import TextClassifier, load_classifier
from sgbt.models.blueprint import parts_of
from sgbt.models.folder import training_note
from sgbt.serve.csv_rows import certified_csv
from sgbt.serve.examine import examined, predictions
from sgbt.serve.live_attack import live_attack

UNSAID = ("index", "model_hash", "table_hash", "options", "max_queries", "labelled")
"""What a row of an attack says beside what whoever asked for it knows."""

Step = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained folder under the name that requests use, ready for proofs."""

    name: str
    classifier: TextClassifier
    prepared: Prepared
    note: Mapping[str, Any]

    def describe(self) -> dict[str, Any]:
        """What a person should know of the model before trusting its answers."""
        model, table = self.classifier.model, self.prepared.table
        parts = parts_of(model)
        kind = " + ".join(type(part).__name__ for part in parts)
        return {
            "name": self.name,
            "kind": kind,
            "objective": str(self.note.get("objective", "unknown")),
            "dataset": Path(str(self.note.get("dataset", "unknown"))).name,
            "labels": list(self.classifier.label_names),
            "max_length": self.classifier.max_length,
            "table": table.name,
            "table_words": len(table.entries),
            "table_hash": table.hash[:12],
            "model_hash": self.prepared.model_hash,
        }


@dataclass(frozen=True, eq=False)
class Desk:
    """The models by name, the first of which answers where a request names none."""

    models: Mapping[str, Model]

    @staticmethod
    def open(runs: Sequence[str]) -> Desk:
        """Load the folders that the command line named."""
        models: dict[str, Model] = {}
        for folder in map(Path, runs):
            classifier = load_classifier(folder)
            if classifier.table is None:
                raise ServeError(
                    expected="a model that was trained with a substitution table",
                    got="one without",
                    where=str(folder),
                    remedy="train it with --substitutions, such as counter_fitted",
                )
            base = name = folder.resolve().name
            while name in models:
                name = f"{base} ({len(models) + 1})"
            models[name] = Model(name, classifier, Prepared.of(classifier), training_note(folder))
        return Desk(models)

    def describe(self) -> list[dict[str, Any]]:
        """All models, in the order of the command line."""
        return [model.describe() for model in self.models.values()]

    def identities(self) -> list[str]:
        """What tells each model from any other, and its substitution table."""
        return [f"{each.prepared.model_hash} {each.prepared.table.hash}" for each in self.models.values()]

    def answer(self, task: Mapping[str, Any], step: Step) -> Any:
        """Do what the task says; `step` hears what happens on the way."""
        model = self._model(task.get("model"))
        if task["do"] == "predict":
            return [json.dumps(each | {"model": model.name}) for each in predictions(model.classifier, task["texts"])]
        text = task["text"]
        match task["do"]:
            case "certify":
                label, budget = task.get("label"), task.get("max_substitutions")
                return examined(model.prepared, text, label=label, max_substitutions=budget) | {"model": model.name}
            case "attack":
                return self._attacked(model, text, task)
            case "live":
                budget = task.get("max_substitutions")
                return live_attack(model.prepared, text, step, max_substitutions=budget) | {"model": model.name}
            case "csv":
                return certified_csv(
                    model.prepared, text, text_column=task["text_column"], label_column=task["label_column"],
                    most=task["most"], step=step,
                )  # fmt: skip
        raise AssertionError(f"no task {task['do']!r}")

    def _attacked(self, model: Model, text: str, task: Mapping[str, Any]) -> dict[str, Any]:
        names = model.classifier.label_names
        (result,) = attack(
            model.classifier,
            [text],
            model.prepared.table,
            method=task["method"],
            seed=task["seed"],
            max_queries=task["max_queries"],
        )
        row = result.to_row() | {"label": names[result.label], "after": names[result.after], "model": model.name}
        return {name: value for name, value in row.items() if name not in UNSAID}

    def _model(self, name: str | None) -> Model:
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            known = ", ".join(map(repr, self.models))
            raise ServeError(expected=f"one of the models {known}", got=repr(name[:80]), where="model")
        return self.models[name]
