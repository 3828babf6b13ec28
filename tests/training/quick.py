"""A small run in this process, every setting open; and what makes two runs the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests import small

from sgbt.data import TextDataset
from sgbt.models import TextCNN, load_classifier, weights_hash
from sgbt.training import Objective, TrainingConfig, train
from sgbt.training.loop.log import read_log


def run(objective: Objective | None = None, *, out: Path | None = None, data: TextDataset | None = None, **options):
    settings = {key: options.pop(key) for key in list(options) if key in TrainingConfig.__dataclass_fields__}
    return train(
        options.pop("model", None) or TextCNN(small.vectors()),
        data or small.dataset(),
        objective=objective,
        substitutions=small.TABLE,
        config=dataclasses.replace(small.QUICK, **settings),
        out=out,
        **options,
    )


def rows_of(folder: Path) -> list[dict]:
    return read_log(folder)


def assert_same(whole: Path, other: Path) -> None:
    assert weights_hash(load_classifier(whole).model) == weights_hash(load_classifier(other).model)
    assert rows_of(whole) == rows_of(other)
    places = [(row["epoch"], row["step"]) for row in rows_of(other)]
    assert places == sorted(set(places))
