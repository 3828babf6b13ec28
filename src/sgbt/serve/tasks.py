"""Desk: the loaded models, and what can be asked of them: predict, certify, attack, and certify a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sgbt.attacks import attack
from sgbt.bridges.guarded import Guarded, behind_of
from sgbt.certify import Prepared, certify
from sgbt.certify.edits import certify_against
from sgbt.certify.rows.summary import PREDICTED, PROVEN, by_class, predicted_cells, proven_cells
from sgbt.core.errors import DataError, ServeError
from sgbt.core.shares import ByClass
from sgbt.data.table_files import read_csv
from sgbt.data.tables import Table, shown
from sgbt.models import TextClassifier, load_classifier
from sgbt.models.blueprint import parts_of
from sgbt.models.folder import training_note
from sgbt.serve.examine import examined, live_attack, predictions
from sgbt.threats import SubstitutionTable, parse_threat

OnStep = Callable[[dict[str, Any]], None]
UPLOAD = "the uploaded file"
ADDED = (*PREDICTED, *PROVEN)
"""The columns that are added; a file that has one of them already is refused."""
MOST_CLASSES, MOST_LETTERS = 20, 60
"""What is said of classes goes into a header, which has little room."""


def certified_csv(
    prepared: Prepared, content: str, *, text_column: str, label_column: str | None, most: int, step: OnStep
) -> dict[str, Any]:
    """The file with a certificate in every row, how many of each verdict there are, and what is said of each class.

    Cells come back as they were. With a label column, a text whose label the model misses is `misclassified`;
    without one, the label to defend is the model's own. `step` gets the number of rows done, and may stop the work.
    """
    table = read_csv(content, source=UPLOAD)
    texts = [str(text) for text in _column(table, text_column)]
    _check(table, texts, most)
    names = prepared.classifier.label_names
    labels = None if label_column is None else _numbers(table, _column(table, label_column), names)
    proofs = certify(
        prepared, texts, labels=labels, listener=lambda done, of: step({"kind": "rows", "done": done, "of": of})
    )
    chances = prepared.classifier.predict(texts).probabilities.max(axis=1).tolist()
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow([*table.columns, *ADDED])
    for row, (proof, chance) in enumerate(zip(proofs, chances, strict=True)):
        added = (*predicted_cells(names[proof.predicted], chance), *proven_cells(proof))
        rows.writerow([*(column[row] for column in table.columns.values()), *added])
    verdicts = [str(proof.verdict) for proof in proofs]
    return {
        "csv": out.getvalue(),
        "certificates": "".join(json.dumps(proof.to_row()) + "\n" for proof in proofs),
        "texts": "".join(
            json.dumps({"index": row, "text": text} | ({} if labels is None else {"label": labels[row]})) + "\n"
            for row, text in enumerate(texts)
        ),
        "rows": len(verdicts),
        "verdicts": {v: verdicts.count(v) for v in set(verdicts)},
        "classes": _classes(by_class(proofs, names, labelled=labels is not None)),
    }


def _classes(found: ByClass) -> dict[str, Any]:
    """The classes with the most texts, so few and so short that a header has room for them, and the warning."""
    checked = found.to_json()
    largest = sorted(checked["classes"], key=lambda each: -each["texts"])[:MOST_CLASSES]
    shown = [{**each, "label": each["label"][:MOST_LETTERS]} for each in checked["classes"] if each in largest]
    warning = found.warning if found.warning is None else found.warning[: 2 * MOST_LETTERS]
    return {"labelled": found.labelled, "warning": warning, "classes": shown}


def _column(table: Table, name: str) -> list[Any]:
    if name not in table.columns:
        raise DataError(
            expected=f"a column named {shown([name])}", got=f"the columns {shown(table.columns)}", where=UPLOAD
        )
    return table.columns[name]


def _check(table: Table, texts: Sequence[str], most: int) -> None:
    if len(texts) > most:
        raise DataError(
            expected=f"at most {most:,} rows",
            got=f"{len(texts):,}",
            where=UPLOAD,
            remedy="use: sgbt certify RUN --data FILE",
        )
    if taken := [name for name in ADDED if name in table.columns]:
        raise DataError(
            expected="a file without the columns that are added", got=repr(taken[0]), where=UPLOAD, remedy="rename it"
        )


def _numbers(table: Table, labels: Sequence[Any], names: Sequence[str]) -> list[int]:
    for row, label in enumerate(labels):
        if label not in names:
            raise DataError(
                expected=f"one of the labels {', '.join(names)}", got=repr(label)[:80], where=table.where(row)
            )
    return [names.index(label) for label in labels]


UNSAID = ("index", "model_hash", "table_hash", "options", "max_queries", "labelled")
"""What a row of an attack says beside what whoever asked for it knows."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained folder under the name that requests use, ready for proofs."""

    name: str
    classifier: TextClassifier
    prepared: Prepared
    note: Mapping[str, Any]

    @property
    def threat(self) -> str:
        """What the model was trained for, as requests write it: `model` is its table, where it has words."""
        others = str(dict(self.note.get("objective_options") or {}).get("threat", ""))
        return " + ".join(filter(None, ["model" if self.prepared.table.entries else "", others]))

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
            "threat": self.threat,
            "model_hash": self.prepared.model_hash,
        }


def _threatened(model: Model, text: str, written: str) -> dict[str, Any]:
    """What is proven of a text under a threat over the model's own table: requests name no other, and no file."""

    def table(name: str) -> SubstitutionTable:
        if name != "model":
            raise ServeError(expected="edits, and the table `model`", got=repr(name[:80]), where="threat")
        return model.prepared.table

    threat = parse_threat(written, table)
    (proof,) = certify_against(model.classifier, [text], threat)
    return {
        "model": model.name,
        "verdict": str(proof.verdict),
        "label": model.classifier.label_names[proof.label],
        "margin": proof.margin,
        "slack": proof.slack,
        "edits": proof.edits,
        "threat": str(threat),
    }


@dataclass(frozen=True, eq=False)
class Desk:
    """The models by name, the first of which answers where a request names none."""

    models: Mapping[str, Model]
    guarded: Guarded | None = None

    @staticmethod
    def open(runs: Sequence[str], behind: Sequence[Any] | None = None) -> Desk:
        """Load the folders that the command line named, and what stands `behind` the first (as in `Pool`)."""
        models: dict[str, Model] = {}
        for folder in map(Path, runs):
            classifier, note = load_classifier(folder), training_note(folder)
            if classifier.table is None and note.get("threat"):
                classifier = replace(classifier, table=SubstitutionTable({}, "none"))
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
            models[name] = Model(name, classifier, Prepared.of(classifier), note)
        if behind is None:
            return Desk(models)
        name, sure = behind
        return Desk(models, Guarded(next(iter(models.values())).prepared, behind_of(name), sure))

    def describe(self) -> list[dict[str, Any]]:
        """All models, in the order of the command line."""
        return [model.describe() for model in self.models.values()]

    def identities(self) -> list[str]:
        """What identifies each model, and its substitution table."""
        return [f"{each.prepared.model_hash} {each.prepared.table.hash}" for each in self.models.values()]

    def answer(self, task: Mapping[str, Any], step: OnStep) -> Any:
        """Do what the task says; `step` is called with what happens on the way."""
        model = self._model(task.get("model"))
        if task["do"] == "predict":
            return [json.dumps(each | {"model": model.name}) for each in predictions(model.classifier, task["texts"])]
        text = task["text"]
        match task["do"]:
            case "certify":
                label, budget = task.get("label"), task.get("max_substitutions")
                return examined(model.prepared, text, label=label, max_substitutions=budget) | {"model": model.name}
            case "threat":
                return _threatened(model, text, task["threat"])
            case "guarded":
                assert self.guarded is not None, "there is no such route without"
                return asdict(self.guarded.answers([text])[0])
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
