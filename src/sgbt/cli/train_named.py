"""`sgbt train --model`: a model of the kind that is named, by a preset, a configuration and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sgbt.cli import train_view as parts
from sgbt.cli.certify_view import show_classes
from sgbt.core.registry import MODELS
from sgbt.data import TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable
from sgbt.training import TrainingMethod, preset_for, preset_named, train
from sgbt.training.balance import unbalanced
from sgbt.training.config import with_options
from sgbt.training.loop.listeners import Listener, Listeners
from sgbt.training.loop.parallel import is_first


@dataclass(frozen=True)
class NamedOptions:
    """What of the command line is about training a model by name."""

    data: str
    model: str
    objective: TrainingMethod
    tables: dict[str, dict[str, Any]]
    preset: str | None
    epochs: int | None
    seed: int
    device: str
    test: bool
    boards: Sequence[Listener]


def train_named(
    dataset: TextDataset,
    substitutions: Callable[[], SubstitutionTable | None],
    vectors: Callable[[], EmbeddingTable],
    out: Path,
    console: Console,
    asked: NamedOptions,
) -> None:
    """Train the model, and say what it is trained by and what it comes to on dev; vectors are read if it needs them."""
    model, aim, tables = asked.model, asked.objective, asked.tables
    kind = MODELS[model]
    settings = preset_named(asked.preset) if asked.preset else preset_for(model, dataset.name)
    epochs = {"epochs": asked.epochs} if asked.epochs else {}
    settings = with_options(settings, tables.get("training", {}) | epochs, "the table training")
    given = parts.model_options(model, tables)
    start = parts.start_of(model, tables)
    table = substitutions()
    options = kind.Options(classes=dataset.classes, **given)
    network = kind.untrained(options, lambda: start.of(vectors(), table))
    console.print(f"{asked.data}: {len(dataset.train):,} texts to train on, {len(dataset.dev):,} to choose by")
    console.print(f"{model} with objective {aim.name}")
    if warning := unbalanced(dataset.train.labels, dataset.label_names):
        console.print(warning)
    if first := aim.recipe.description:
        console.print(first)
    with parts.TrainingView(console) as view:
        run = train(
            network,
            dataset,
            objective=aim,
            substitutions=table,
            seed=asked.seed,
            config=settings,
            out=out,
            listener=Listeners(view, *asked.boards),
            device=asked.device,
        )
    if not is_first():
        return
    parts.show_dev(run, dataset.dev, console)
    if asked.test:
        found = parts.answers(run.model, dataset.test)
        console.print(parts.measured(found, dataset.test, out, aim, settings, asked.seed))
        show_classes(found, console)
