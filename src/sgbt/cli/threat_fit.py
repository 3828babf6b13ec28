"""What `sgbt train --threat` does: a bag of words fitted to the worst case of a threat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from sgbt.cli import options as opt
from sgbt.cli.certify_view import show_classes
from sgbt.cli.train_view import answers
from sgbt.core.errors import TrainingError
from sgbt.data import TextDataset
from sgbt.models import save_classifier
from sgbt.threats import parse_threat
from sgbt.training.config import with_options
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words


@dataclass(frozen=True)
class ThreatOptions:
    """What of the command line is about fitting to a threat."""

    context: typer.Context
    model: str
    tables: dict[str, dict[str, Any]]
    epochs: int | None
    seed: int
    vectors: str


def fit_to_threat(written: str, dataset: TextDataset, out: Path, console: Console, given: ThreatOptions) -> None:
    """Fit a bag of words to the worst case of a threat, and keep it; options are in the table `threat`."""
    named = given.context.params
    if given.model != "linear" or named["preset"]:
        got = "a preset" if named["preset"] else given.model
        raise TrainingError(expected="--model linear", got=got, where="--threat", remedy="add --model linear")
    home = named["data_home"]
    read = partial(opt.vectors_of, given.vectors, data_home=home)
    threat = parse_threat(written, lambda name: opt.table_of(name, read, data_home=home))
    options = given.tables.get("threat", {}) | ({"epochs": given.epochs} if given.epochs else {})
    fit = with_options(ThreatFit(), options, "the table threat")
    console.print(f"{len(dataset.train):,} texts; threat {threat.name}; {fit}", soft_wrap=True)
    vectors = read() if fit.vectors else None
    model = fit_bag_of_words(dataset.train, dataset.label_names, threat, fit=fit, vectors=vectors, seed=given.seed)
    save_classifier(model, out)
    if len(dataset.dev):
        show_classes(answers(model, dataset.dev), console)
    console.print(f"saved in {out}", soft_wrap=True)
