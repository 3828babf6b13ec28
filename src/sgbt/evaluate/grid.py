"""Grid: what a benchmark compares, as a value; each cell is one model to train, attack and certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from sgbt.core.errors import EvaluationError
from sgbt.threats import EmbeddingStart

Options = Mapping[str, Any]
DEV, TEST = "dev", "test"


@dataclass(frozen=True)
class DataSource:
    """A dataset by its name in `load_dataset`, or a file with its columns.

    `train`, `dev` and `test` limit how many texts are used, drawn at random; with a `dev` of 0 none is set apart to
    choose by: all training texts are trained on, to the last epoch. `split` says whether test is measured or,
    while recipes are still being chosen, dev, so that the test texts stay unread.
    """

    source: str
    name: str
    text: str | None = None
    label: str | None = None
    train: int | None = None
    test: int | None = None
    split: str = TEST
    dev: int | None = None


@dataclass(frozen=True)
class Method:
    """One way to train: an objective with options, under the name that tables give it, and options that go with it.

    `substitutions` is the table that it trains for, where that is not the grid's.
    """

    objective: str
    label: str
    options: Options = field(default_factory=dict)
    training: Options = field(default_factory=dict)
    model: Options = field(default_factory=dict)
    substitutions: str | None = None


@dataclass(frozen=True)
class Rule:
    """Options for the cells whose name a pattern such as `imdb/cnn/*` matches."""

    cells: str
    training: Options = field(default_factory=dict)
    model: Options = field(default_factory=dict)
    objective: Options = field(default_factory=dict)
    attacks: tuple[str, ...] | None = None
    tiers: tuple[str, ...] | None = None
    certify: int | None = None
    last_words: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """What is measured of models, and of which vectors they are made.

    `attacks` work on `sample` texts drawn at random from those to measure; with `sample_correct`, texts are drawn until
    the model classifies so many of them correctly, and the wrong ones drawn on the way count as not robust. `certify`
    limits the texts to certify to so many drawn in the same way (None: all of them; 0: none). Certificates are made
    for every table of `against`; an attack that `attack_tables` names works with that table alone, any other with each.
    Certificates are also made against every one of `threats`, written as on the command line.
    With `last_words`, texts are attacked and certified without what stands before so many words at their end.
    """

    vectors: str = "glove"
    start: EmbeddingStart = field(default_factory=EmbeddingStart)
    """What networks make of the vectors before they train."""
    substitutions: str = "counter_fitted"
    against: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    attack_tables: Mapping[str, str] = field(default_factory=dict)
    attack_options: Mapping[str, Options] = field(default_factory=dict)
    """Options of attacks, by their names, that differ from the published ones."""
    sample: int = 1000
    sample_seed: int = 0
    sample_correct: bool = False
    max_queries: int | None = None
    tiers: tuple[str, ...] = ()
    certify: int | None = None
    last_words: int | None = None


@dataclass(frozen=True, kw_only=True)
class Cell(Measuring):
    """One model to train, and what to measure of it. All options are those that differ from the defaults."""

    dataset: DataSource
    model: str
    method: Method
    seed: int
    training: Options
    model_options: Options
    objective_options: Options

    @property
    def name(self) -> str:
        """The cell's place in the grid, as rules and `--only` call it."""
        return f"{self.dataset.name}/{self.model}/{self.method.label}/{self.seed}"

    def attacks_with(self, table: str) -> tuple[str, ...]:
        """The attacks that work with one of the tables."""
        return tuple(each for each in self.attacks if self.attack_tables.get(each, table) == table)


@dataclass(frozen=True, kw_only=True)
class Grid(Measuring):
    """Datasets x models x methods x seeds, each attacked and certified in one way unless a rule says otherwise."""

    name: str
    title: str
    datasets: tuple[DataSource, ...]
    models: Mapping[str, Options]
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    objectives: Mapping[str, Options] = field(default_factory=dict)
    """Options of objectives, by their names, for all methods that do not say otherwise."""
    training: Options = field(default_factory=dict)
    keep: tuple[str, ...] = ("*",)
    """Patterns of the cells that there are; without any, all."""
    rules: tuple[Rule, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    """Methods to compare in pairs; the second may be a pattern, and its match of nearest dev accuracy is taken."""

    def cells(self, only: str | None = None) -> list[Cell]:
        """All cells in the order of the file, or those that a pattern matches."""
        found = [
            cell
            for dataset in self.datasets
            for model in self.models
            for method in self.methods
            for seed in self.seeds
            if any(matches((cell := self._cell(dataset, model, method, seed)).name, pattern) for pattern in self.keep)
        ]
        chosen = [cell for cell in found if only is None or matches(cell.name, only)]
        if not chosen:
            raise EvaluationError(
                expected="a cell, named like " + (found[0].name if found else "dataset/model/method/seed"),
                got="none" if only is None else f"none that matches {only!r}",
                where=f"the grid {self.name}",
            )
        return chosen

    def _cell(self, dataset: DataSource, model: str, method: Method, seed: int) -> Cell:
        shared = {each.name: getattr(self, each.name) for each in fields(Measuring)}
        shared["substitutions"] = method.substitutions or self.substitutions
        shared["against"] = self.against or (self.substitutions,)
        cell = Cell(
            dataset=dataset,
            model=model,
            method=method,
            seed=seed,
            training={**self.training, **method.training},
            model_options={**self.models[model], **method.model},
            objective_options={**self.objectives.get(method.objective, {}), **method.options},
            **shared,
        )
        for rule in self.rules:
            if matches(cell.name, rule.cells):
                cell = _ruled(cell, rule)
        return cell


def matches(name: str, pattern: str) -> bool:
    """Whether a cell's name fits a pattern; a pattern of fewer parts fits all that begin so."""
    missing = name.count("/") - pattern.count("/")
    return fnmatchcase(name, pattern + "/*" * max(missing, 0))


def _ruled(cell: Cell, rule: Rule) -> Cell:
    chosen = {name: getattr(rule, name) for name in ("attacks", "tiers", "certify", "last_words")}
    return replace(
        cell,
        training={**cell.training, **rule.training},
        model_options={**cell.model_options, **rule.model},
        objective_options={**cell.objective_options, **rule.objective},
        **{name: value for name, value in chosen.items() if value is not None},
    )
