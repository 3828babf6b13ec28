"""What a run begins with: a model of its own, the words it reads, the texts in their ids, and what determines it."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import nn

from sgbt.core.errors import TrainingError, visible
from sgbt.data import Split, TextDataset, Tokenizer
from sgbt.models import AnyModel, Bag, weights_hash
from sgbt.models.blueprint import blueprint
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.training.config import TrainingConfig
from sgbt.training.loop.steps import Corpus, Examples

if TYPE_CHECKING:
    from sgbt.training.method import TrainingMethod

M = TypeVar("M", bound=nn.Module)


@singledispatch
def adopt_vocabulary(
    model: Any,
    vocabulary: Vocabulary | None,
    counts: Counter[str],
    table: SubstitutionTable | None,
    config: TrainingConfig,
) -> Vocabulary:
    """The vocabulary of the model's embedding: the given one, or that of train."""
    source, rows = model.embedding.source, len(model.embedding.weight)
    if source is None and vocabulary is not None:
        if len(vocabulary) != rows:
            raise TrainingError(
                expected=f"a vocabulary of {rows} ids, one for each row of the embedding", got=str(len(vocabulary))
            )
        return vocabulary
    if source is None:
        raise TrainingError(
            expected="the vocabulary of the model's embedding", got="none", where="train", remedy="pass vocabulary="
        )
    if vocabulary is None:
        least = config.minimum_count
        kept = {word: count for word, count in counts.items() if source.row_of(word) is not None or count >= least}
        vocabulary = Vocabulary.build(kept, table=table, vectors=source)
    model.embedding.adopt(vocabulary)
    return vocabulary


@adopt_vocabulary.register
def _of_bag(
    model: Bag,
    vocabulary: Vocabulary | None,
    counts: Counter[str],
    table: SubstitutionTable | None,
    config: TrainingConfig,
) -> Vocabulary:
    return vocabulary or whole_vocabulary(counts, table, minimum_count=config.minimum_count)


def whole_vocabulary(counts: Counter[str], table: SubstitutionTable | None, *, minimum_count: int) -> Vocabulary:
    """Words that train has so often, and every word of the table.

    With the whole table in it, a word that train lacks still has its cluster, and is never taken for an unknown one.
    """
    known = set(table.entries).union(*table.entries.values()) if table is not None else set()
    kept = {word: counts.get(word, 0) for word in known}
    kept |= {word: count for word, count in counts.items() if count >= minimum_count}
    return Vocabulary.build(kept, minimum_count=0)


def copied(model: M) -> M:
    """A model of its own for every run; the table of vectors behind it, which nobody changes, is shared."""
    sources = [part.source for part in model.modules() if getattr(part, "source", None) is not None]
    return copy.deepcopy(model, {id(source): source for source in sources}).cpu()


def redraw(model: nn.Module, seed: int) -> None:
    """Draw all weights afresh from the seed."""
    torch.manual_seed(seed)
    for layer in model.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()


def examples_of(
    split: Split, tokenizer: Tokenizer, vocabulary: Vocabulary, config: TrainingConfig, index: SubstitutionIndex | None
) -> Examples:
    """A split in ids, each text cut to the length that is read."""
    tokens = split.tokenised(tokenizer)
    numbers = vocabulary.ids_of(tokens.types) if index is None else index.rows_of(tokens.types)
    rows = tokens.as_ids_of(numbers).cut(config.max_length)
    return Examples(rows, split.labels, len(vocabulary), index)


def note_of(dataset: TextDataset, method: TrainingMethod, seed: int, config: TrainingConfig) -> dict[str, Any]:
    """What a folder says of how its model was trained."""
    return {
        "dataset": visible(dataset.name),
        "dataset_hash": dataset.hash,
        "objective": method.name,
        "objective_options": method.options,
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
