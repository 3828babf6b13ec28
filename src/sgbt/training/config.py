"""How training runs: the paper's Tables 2 and 3 as named presets, and a TOML file for everything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sgbt.core import documents
from sgbt.core.errors import TrainingError, did_you_mean
from sgbt.core.fields import kind_of_option
from sgbt.core.renamed import current_names, renamed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Value = TypeVar("Value", bound="DataclassInstance")


@renamed(fall="learning_rate_decay", rare="minimum_count")
@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """The protocol that all objectives share."""

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    max_length: int = 512
    patience: int = 3
    """Epochs without a better dev score before training stops; the best epoch's weights are kept."""
    learning_rate_decay: float = 0.0
    """The learning rate decays to zero as (1 - t)^this, t from 0 to 1 over all epochs; 0: it is constant, but for a
    BagOfWords, whose rate decays by the square then. A BagOfNgrams has no rate."""
    clip: float = 5.0
    minimum_count: int = 10
    """A word without a vector enters the vocabulary when train has it this often; a rarer one is read as unknown. A
    network with tied words, or with a recipe, reads what train has twice, and all words of the table."""
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_length", "patience"):
            if getattr(self, name) < 1:
                raise TrainingError(expected=f"{name} of at least 1", got=str(getattr(self, name)))
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise TrainingError(expected=f"{name} above 0", got=str(getattr(self, name)))
        if not 0 <= self.learning_rate_decay < math.inf:
            raise TrainingError(
                expected="learning_rate_decay of at least 0, and finite", got=str(self.learning_rate_decay)
            )
        for name in ("weight_decay", "minimum_count", "checkpoint_seconds"):
            if not getattr(self, name) >= 0:
                raise TrainingError(expected=f"{name} of at least 0", got=str(getattr(self, name)))


PRESETS: dict[str, TrainingConfig] = {
    "paper-bilstm-imdb": TrainingConfig(learning_rate=1e-3, max_length=512),
    "paper-bilstm-yahoo": TrainingConfig(learning_rate=1e-3, max_length=256),
    "paper-cnn-imdb": TrainingConfig(learning_rate=1e-4, max_length=512, epochs=40),
    "paper-cnn-yahoo": TrainingConfig(learning_rate=1e-4, max_length=256, epochs=40),
    "linear": TrainingConfig(
        learning_rate=0.04,
        weight_decay=8e-5,
        batch_size=1000,
        epochs=24,
        patience=24,
        max_length=10_000,
        minimum_count=2,
    ),
    "grams": TrainingConfig(weight_decay=2e-3, epochs=8, patience=8, max_length=10_000, minimum_count=2),
}
"""Optimiser, rates and lengths of the paper's Tables 2 and 3 (hidden and filter sizes are the models' own defaults);
for the linear models, which the paper does not have, large batches of whole texts, or all at once, with rates and
decays that were chosen for training on the worst case."""


def preset_for(model: str, dataset: str) -> TrainingConfig:
    """The paper's settings for a kind of model and a dataset; IMDB's for a dataset the paper does not have."""
    if model in PRESETS:
        return PRESETS[model]
    return PRESETS.get(f"paper-{model}-{'yahoo' if 'yahoo' in dataset else 'imdb'}", TrainingConfig())


def preset_named(name: str) -> TrainingConfig:
    """The preset of that name."""
    return chosen(PRESETS, name, "the option preset")


def chosen(known: Mapping[str, T], name: str, where: str) -> T:
    """What a name stands for; the error for an unknown one lists those that are known, and the nearest."""
    if name not in known:
        raise TrainingError(
            expected=f"one of {', '.join(known)}", got=repr(name), where=where, remedy=did_you_mean(name, known)
        )
    return known[name]


def read_toml(path: Path) -> dict[str, dict[str, Any]]:
    """Tables `training`, `model`, `objective` and `start` of a configuration file."""
    tables = documents.read_toml(path, kind=TrainingError, expected="a configuration file in TOML")
    odd = sorted(set(tables) - {"training", "model", "objective", "start"})
    odd += [name for name, table in tables.items() if not isinstance(table, dict)]
    if odd:
        raise TrainingError(
            expected="the tables training, model, objective and start", got=repr(odd[0]), where=str(path)
        )
    return tables


def with_options(value: Value, options: dict[str, Any], where: str) -> Value:
    """A dataclass value with some fields changed; an unknown field, or a value of another kind, is refused by name.

    Old names of fields are read as the new ones.
    """
    known = {field.name: field.default for field in fields(value)}
    options = current_names(type(value), options)
    for name, option in options.items():
        if name not in known:
            raise TrainingError(
                expected=f"one of {', '.join(sorted(known)) or 'no'} options", got=repr(name), where=where
            )
        expected = kind_of_option(getattr(value, name) if known[name] is MISSING else known[name])
        if not expected.fits(option):
            raise TrainingError(expected=f"{expected.name} for {name}", got=repr(option), where=where)
    return replace(value, **options)
