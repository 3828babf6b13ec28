"""What `sgbt attack` makes of its options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from sgbt.cli import options as opt
from sgbt.data import Split, TextDataset
from sgbt.errors import AttackError, DataError
from sgbt.lexicon import SubstitutionTable
from sgbt.models import TextClassifier

RUN = "run"


def texts_of(classifier: TextClassifier, dataset: TextDataset, split: str) -> Split:
    """The texts to attack, of a dataset whose labels the model knows."""
    if dataset.label_names != classifier.label_names:
        raise DataError(
            wanted=f"the labels that the model knows ({', '.join(classifier.label_names[:10])})",
            got=", ".join(dataset.label_names[:10]),
            where=dataset.name,
            remedy="name the label column with --label, or attack a model of that data",
        )
    splits = {part.name: part for part in dataset.splits}
    if split == "all":
        parts = dataset.splits
        whole = [example for part in parts for example in part]
        return Split("all", tuple(example.text for example in whole), torch.tensor([e.label for e in whole]).numpy())
    if split not in splits:
        raise AttackError(wanted="one of train, dev, test, all", got=repr(split), where="--split")
    return splits[split]


def table_for(classifier: TextClassifier, name: str, vectors: str, data_home: Path | None) -> SubstitutionTable:
    """The table that the command line names; `run` is the one that the model was trained for."""
    if name == RUN:
        if classifier.table is None:
            raise AttackError(
                wanted="a model that was trained with a substitution table",
                got="one without",
                where="--substitutions run",
                remedy="choose a table, such as --substitutions counter_fitted",
            )
        return classifier.table
    table = opt.table_of(name, partial(opt.vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise AttackError(wanted="a substitution table", got=repr(name), where="--substitutions")
    return table
