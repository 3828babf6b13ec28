"""What determines a run: the note that its folder keeps, and the hash by which a checkpoint knows its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sgbt.core.visible import visible
from sgbt.data import TextDataset, Tokenizer
from sgbt.models import AnyModel, weights_hash
from sgbt.models.blueprint import blueprint
from sgbt.training.config import TrainingConfig
from sgbt.training.objective import Corpus, Objective
from sgbt.training.steps import Examples


def note_of(dataset: TextDataset, objective: Objective, seed: int, config: TrainingConfig) -> dict[str, Any]:
    """What a folder says of how its model was trained."""
    return {
        "dataset": visible(dataset.name),
        "dataset_hash": dataset.hash,
        "objective": objective.name,
        "objective_options": asdict(objective),
        "seed": seed,
        "config": asdict(config),
    }


def settings_of(
    model: AnyModel, note: Mapping[str, Any], corpus: Corpus, tokenizer: Tokenizer, clusters: np.ndarray | None = None
) -> str:
    """One hash of all that determines the result: a checkpoint is continued only where it agrees.

    `clusters` are those whose words are tied, where any are: another version of what finds them may find others.
    """
    note, table = {**note, "dev": {}}, corpus.table
    if tokenizer != Tokenizer():
        note["tokenizer"] = tokenizer.pattern
    note["config"] = {key: value for key, value in note["config"].items() if key != "checkpoint_seconds"}
    del note["dataset"]  # its hash says which one it is, wherever the file lies
    parts = [note, blueprint(model), weights_hash(model), corpus.vocabulary.hash, table.hash if table else None]
    if clusters is not None:
        parts.append(hashlib.sha256(np.ascontiguousarray(clusters).tobytes()).hexdigest())
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def settings_of_part(examples: Sequence[Examples], corpus: Corpus, config: TrainingConfig, *more: float | str) -> str:
    """One hash of all that determines a linear model that is fitted before a network."""
    assert corpus.table is not None
    whole = hashlib.sha256(json.dumps([corpus.vocabulary.hash, corpus.table.hash, str(config), *more]).encode())
    for part in examples:
        for array in (part.rows.flat, part.rows.starts, part.labels):
            whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()
