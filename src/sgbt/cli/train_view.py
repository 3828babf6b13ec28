"""What `sgbt train` makes of its options, and what a person sees of a training: a live line, or one now and then."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sgbt.cli.certify_view import show_classes
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Drawn
from sgbt.core.errors import TrainingError
from sgbt.core.files import atomic_write
from sgbt.core.registry import MODELS, OBJECTIVES
from sgbt.core.shares import ByClass
from sgbt.data import Split, TextDataset
from sgbt.evaluate.bench import Published
from sgbt.evaluate.grid import TEST
from sgbt.models import Bag, TextClassifier
from sgbt.threats import EmbeddingStart
from sgbt.training import Run, TrainingConfig, TrainingMethod, method_of
from sgbt.training.config import chosen, with_options

QUIET_SECONDS = 30.0
LINEAR = ("linear", "grams")
"""Kinds of models whose worst case is found without intervals, and that certified suits by default."""


class TrainingView(Drawn):
    """A listener of the training loop that draws on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, TextColumn("{task.fields[state]}"), console=console, transient=True)
        self._task = self._bars.add_task("training", total=1, state="", visible=False)
        self._seen, self._prepared = console.is_terminal, time.monotonic()

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self.begin(f"epoch {number + 1} of at most {of}", steps)

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts were prepared before the first epoch."""
        now = time.monotonic()
        if self._console.is_terminal:
            self._bars.update(self._task, total=of, completed=done, description=title, state="", visible=True)
        elif now - self._prepared > QUIET_SECONDS:
            self._console.print(f"{title}: {done:,} of {of:,} texts")
            self._prepared = now

    def for_parts(self) -> PartsView:
        """A linear model that is fitted first is shown as such."""
        return PartsView(self)

    def begin(self, title: str, steps: int) -> None:
        """An epoch of this title begins."""
        self._title = title
        self._steps, self._began, self._printed = steps, time.monotonic(), time.monotonic()
        self._texts, self._right, self._sums, self._taken = 0, 0.0, dict[str, float](), 0
        self._bars.reset(self._task, total=steps, description=self._title, state="", visible=True)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken: show running means of the loss parts, accuracy, and texts per second."""
        self._texts += examples
        self._taken += 1
        self._right += accuracy * examples
        for name, part in parts.items():
            self._sums[name] = self._sums.get(name, 0.0) + part
        now = time.monotonic()
        if self._console.is_terminal:
            self._bars.update(self._task, completed=number + 1, state=self._state(now))
        elif now - self._printed > QUIET_SECONDS:
            left = (now - self._began) / self._taken * (self._steps - number - 1)
            self._console.print(
                f"{self._title}, step {number + 1} of {self._steps}: {self._state(now)}, {left:.0f} s left",
            )
            self._printed = now

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        shown = ", ".join(f"dev {name} {value:.2%}" for name, value in scores.items() if name != "score")
        mark = " (best so far)" if best else ""
        took = f"{time.monotonic() - self._began:.0f} s"
        state = [self._state(time.monotonic()), *([shown + mark] if shown else []), took]
        self._console.print(f"{self._title}: {'; '.join(state)}")

    def _state(self, now: float) -> str:
        if not self._taken:
            return "nothing left of it"
        parts = " ".join(f"{name} {total / self._taken:.3f}" for name, total in self._sums.items())
        speed = self._texts / max(now - self._began, 1e-9)
        return f"{parts}, accuracy {self._right / self._texts:.1%}, {speed:,.0f} texts/s"


@dataclass(frozen=True)
class PartsView:
    """What is shown of a linear model that is fitted before the network."""

    view: TrainingView

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self.view.begin(f"before the network, epoch {number + 1} of at most {of}", steps)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self.view.step(number, parts, accuracy, examples)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        self.view.scores(number, scores, best)

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts were prepared before the first epoch."""
        self.view.preparing(f"before the network, {title}", done, of)


def method_from(name: str | None, model: str, table: dict[str, Any], **given: float | None) -> TrainingMethod:
    """The method whose objective the command line names, or that of the model where it names none.

    Options come from a table and, before those, as `given`.
    """
    name = name or ("certified" if model in LINEAR else "sgbt")
    kind = chosen(OBJECTIVES, name, "--objective")
    known = {field.name for field in fields(kind)}
    for option, value in given.items():
        if value is not None and option not in known:
            raise TrainingError(expected=f"an objective with {option}", got=name, remedy="use gbm, sgbt or certified")
    options = table | {key: value for key, value in given.items() if value is not None}
    return method_of(name, options, "the table objective")


def model_options(model: str, tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The options of the table `model`, all of which that model has."""
    table = tables.get("model", {})
    with_options(MODELS[model].Options(), table, "the table model")  # refuses an option that the model does not have
    return table


def start_of(model: str, tables: dict[str, dict[str, Any]]) -> EmbeddingStart:
    """What the table `start` makes of the vectors; a model without an embedding has nothing to start."""
    table = tables.get("start", {})
    if table and issubclass(MODELS[model], Bag):
        raise TrainingError(
            expected="a model with an embedding", got=model, where="the table start", remedy="leave the table out"
        )
    start: EmbeddingStart = with_options(EmbeddingStart(), table, "the table start")
    return start


def limited(dataset: TextDataset, limit: int | None) -> TextDataset:
    """The dataset with the first texts of train alone; splits come mixed, so no label is left out."""
    return TextDataset(
        dataset.name, dataset.label_names, dataset.train[:limit], dataset.dev, dataset.test, dataset.duplicates
    )


def refuse_beside_published(context: typer.Context) -> None:
    """A published model has its data, options and seed by its cell: whatever else was given would be ignored."""
    ours = {"preset", "out", "threads", "data_home"}
    for name in sorted(context.params.keys() - ours):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise TrainingError(
                expected="a published model alone: its cell says data, options and seed",
                got=f"{name} as well",
                where=f"--preset {context.params['preset']}",
                remedy="leave it out",
            )


def rebuilt(name: str, out: Path, console: Console, *, data_home: Path | None) -> None:
    """Train a published model again, by the name of its cell."""
    published = Published.named(name, data_home=data_home)
    source = published.source
    console.print(f"{published.cell.name} of the grid {name.partition(':')[0]}")
    with TrainingView(console) as view:
        run = published.train(out, view)
    if published.reads_whole:
        whole = published.materials.dataset(replace(source, split=TEST))  # as other commands will read it
        read = Reading(source.source, source.text, source.label)
        (replace(read, dev=0.0) if source.dev == 0 else read).keep(out, whole)
    show_dev(run, published.materials.dataset(replace(source, split=TEST)).dev, console)
    console.print(f"saved in {out}")


def answers(model: TextClassifier, split: Split) -> ByClass:
    """What a model answers for the texts of a split, by class."""
    predicted = model.predict(split.texts).probabilities.argmax(axis=1)
    return ByClass.of(model.label_names, zip(split.labels.tolist(), predicted.tolist(), strict=True))


def nothing_to_replace(model: TextClassifier, split: Split) -> int:
    """How many texts have no word that the model reads and that its table replaces."""
    if model.table is None:
        return len(split)
    read = (model.tokenizer.words(text)[: model.max_length] for text in split.texts)
    return sum(not any(map(model.table.substitutes, words)) for words in read)


def show_dev(run: Run, dev: Split, console: Console) -> None:
    """Which epoch is kept, and what the model does with each class of dev.

    The share that intervals prove, by which an epoch is chosen, is of all texts; how many of these have no word to
    replace, so that nothing was to be proven about them, is said beside it.
    """
    console.print(chosen_epoch(run.dev), soft_wrap=True)
    if "certified" in run.dev and (fixed := nothing_to_replace(run.model, dev)):
        console.print(f"{fixed:,} of the {len(dev):,} texts of dev have nothing to replace")
    if len(dev):
        show_classes(answers(run.model, dev), console)


def measured(
    found: ByClass, test: Split, out: Path, method: TrainingMethod, settings: TrainingConfig, seed: int
) -> str:
    """Accuracy on test, written into the run's folder with what led to it, and shown in one line."""
    right = sum(each.recall.count for each in found.classes)
    row: dict[str, Any] = {
        "clean_accuracy": right / max(len(test), 1),
        "clean_right": right,
        "clean_total": len(test),
        "by_class": found.to_json(),
        "seed": seed,
    }
    row |= {"objective": method.name, "options": method.options, "config": asdict(settings)}
    with atomic_write(out / "test.json") as stream:
        stream.write(json.dumps(row, indent=1).encode())
    return f"clean accuracy on test: {right:,} of {len(test):,} = {row['clean_accuracy']:.2%}"


def chosen_epoch(scores: dict[str, float]) -> str:
    """Which epoch is kept, and its scores on dev, in one line."""
    shown = ", ".join(f"{name} {value:.2%}" for name, value in scores.items() if name != "score")
    return f"best epoch on dev: {shown}" if shown else "no text is set apart as dev: the last epoch is kept"
