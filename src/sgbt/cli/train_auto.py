"""`sgbt train` as it is by default: the model is chosen for the data, with three lines that say how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from sgbt.cli.certify_view import show_classes
from sgbt.cli.train_named import NamedOptions
from sgbt.cli.train_view import TrainingView, answers, measured
from sgbt.core.errors import TrainingError
from sgbt.core.registry import MODELS
from sgbt.core.shares import ByClass
from sgbt.data import TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable
from sgbt.training import PRESETS, method_of, train_auto
from sgbt.training.config import chosen

AUTO = "auto"
OF_NETWORKS = ("objective", "epochs", "beta", "gamma", "preset", "config", "vectors", "tensorboard")
"""Options that auto has no use for: with one of them and no --model, a cnn is trained."""


class AutoView(TrainingView):
    """What is being fitted, with a bar, and nothing that stays."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """Scores of single epochs are left out: the choice has those that count."""


def model_named(context: typer.Context, given: str | None) -> str:
    """The kind of model that the options mean."""
    named = [name for name in OF_NETWORKS if _given(context, name)]
    if given is None:
        if context.params.get("threat"):
            return "linear" if "epochs" in named or "config" in named else AUTO
        return "cnn" if named else AUTO
    if given != AUTO:
        chosen({AUTO: None, **dict.fromkeys(MODELS)}, given, "--model")
    elif named:
        raise TrainingError(
            expected="auto alone: it chooses its settings",
            got=f"--{named[0]} as well",
            where="--model",
            remedy=f"leave it out, or name one of {', '.join(MODELS)}",
        )
    return given


def _given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def train_chosen(
    asked: NamedOptions,
    dataset: TextDataset,
    table: SubstitutionTable | None,
    vectors: Callable[[], EmbeddingTable] | None,
    out: Path,
    console: Console,
) -> None:
    """Choose and train, say what was chosen and why, and what it does with each class of dev."""
    console.print(f"{asked.data}: {len(dataset.train):,} texts to train on, {len(dataset.dev):,} to choose by")
    with AutoView(console) as view:
        run = train_auto(dataset, table=table, seed=asked.seed, out=out, listener=view, vectors=vectors)
    auto: dict[str, Any] = run.about["auto"]
    for line in auto["reasons"]:
        console.print(line, soft_wrap=True, highlight=False)
    if len(dataset.dev):
        show_classes(ByClass.from_json(auto["dev_by_class"]), console)
    if asked.test:
        found = answers(run.model, dataset.test)
        method = method_of(run.about["objective"], run.about["objective_options"])
        console.print(measured(found, dataset.test, out, method, PRESETS["grams"], asked.seed))
        show_classes(found, console)
