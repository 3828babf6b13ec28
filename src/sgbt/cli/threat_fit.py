"""What `sgbt train --threat` does: a bag of words is fitted to the worst case; other models are trained on edits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import typer
from rich.console import Console

from sgbt.cli import options as opt
from sgbt.cli.certify_view import show_classes
from sgbt.cli.train_auto import AUTO
from sgbt.cli.train_named import NamedOptions, train_named
from sgbt.cli.train_view import answers
from sgbt.core.errors import SgbtError, TrainingError
from sgbt.data import TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.models import save_classifier
from sgbt.threats import Threat, parse_threat
from sgbt.training import TrainingMethod
from sgbt.training.config import with_options
from sgbt.training.objectives.worst_edits import WorstEdits
from sgbt.training.threat_bag import ThreatFit


@dataclass(frozen=True)
class ThreatOptions:
    """What of the command line is about training for a threat."""

    context: typer.Context
    vectors: str
    asked: NamedOptions


def fit_to_threat(written: str, dataset: TextDataset, out: Path, console: Console, given: ThreatOptions) -> None:
    """Train for a threat. Options of a fitted bag of words are in the table `threat`."""
    named, asked = given.context.params, given.asked
    if named["preset"] or named["objective"]:
        got = "a preset" if named["preset"] else named["objective"]
        raise TrainingError(expected="a model alone", got=got, where="--threat", remedy="leave it out")
    home = named["data_home"]
    read = cache(partial(opt.vectors_of, given.vectors, data_home=home))
    threat = parse_threat(written, lambda name: opt.table_of(name, read, data_home=home))
    console.print(f"{asked.data}: {len(dataset.train):,} texts; threat {threat}", markup=False, soft_wrap=True)
    fit = _Fit(threat, dataset, out, console, read, asked)
    if asked.model in (AUTO, "linear"):
        fit.bag_of_words()
    else:
        fit.network()


@dataclass(frozen=True)
class _Fit:
    threat: Threat
    dataset: TextDataset
    out: Path
    console: Console
    read: Callable[[], EmbeddingTable]
    asked: NamedOptions

    def bag_of_words(self) -> None:
        from sgbt.certify.edits.fitting import note_of_fit, train_for_threat

        options = self.asked.tables.get("threat", {}) | ({"epochs": self.asked.epochs} if self.asked.epochs else {})
        fit = with_options(ThreatFit(), options, "the table threat") if options or self.asked.model != AUTO else None
        vectors = None
        if fit is None:
            try:
                vectors = self.read()
            except SgbtError as problem:
                self.console.print(f"without word vectors: {problem}", markup=False, soft_wrap=True)
        elif fit.vectors:
            vectors = self.read()
        self.console.print("a bag of words, fitted to the worst case of the threat")
        found = train_for_threat(
            self.dataset,
            self.threat,
            fit=fit,
            vectors=vectors,
            seed=self.asked.seed,
            log=lambda line: self.console.print(line, markup=False),
        )
        self.console.print(f"taken: {found.fit}", markup=False, soft_wrap=True)
        save_classifier(found.model, self.out, training=note_of_fit(self.dataset, self.threat, found, self.asked.seed))
        if len(self.dataset.dev):
            show_classes(answers(found.model, self.dataset.dev), self.console)

    def network(self) -> None:
        others, substitutions = self.threat.without_substitutions, self.threat.of_kind("substitutions")
        if others is None:
            raise TrainingError(
                expected="other edits than substitutions", got=self.threat.name, where="--threat",
                remedy="name the table with --substitutions",
            )  # fmt: skip
        aim = with_options(
            WorstEdits(), self.asked.tables.get("objective", {}) | {"threat": others.name}, "the table objective"
        )
        how = {"grams": "on the worst case of substitutions, with the worst edits added one by one"}
        says = how.get(self.asked.model, "on texts whose costliest words become unknown: examples, no bound")
        self.console.print(
            f"{self.asked.model}, trained {says}; sgbt certify --threat proves what that comes to", soft_wrap=True
        )
        table = substitutions.table if substitutions is not None else None
        trained = replace(self.asked, objective=TrainingMethod(aim), preset=None)
        train_named(self.dataset, lambda: table, self.read, self.out, self.console, trained)
