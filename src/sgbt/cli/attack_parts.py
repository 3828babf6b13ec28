"""What `sgbt attack` makes of its options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from sgbt.cli import options as opt
from sgbt.cli.certify_parts import numbered_as
from sgbt.core.errors import AttackError
from sgbt.data import Split, TextDataset
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable

RUN = "run"


def texts_of(classifier: TextClassifier, dataset: TextDataset, split: str) -> Split:
    """The texts to attack, with labels numbered as the model numbers them."""
    splits = {part.name: part for part in dataset.splits}
    if split == "all":
        whole = [example for part in dataset.splits for example in part]
        splits[split] = Split(split, tuple(each.text for each in whole), np.array([each.label for each in whole], int))
    if split not in splits:
        raise AttackError(expected="one of train, dev, test, all", got=repr(split), where="--split")
    chosen = splits[split]
    return Split(chosen.name, chosen.texts, numbered_as(classifier, dataset.label_names, chosen))


def table_for(classifier: TextClassifier, name: str, vectors: str, data_home: Path | None) -> SubstitutionTable:
    """The table that the command line names; `run` is the one that the model was trained for."""
    if name == RUN:
        if classifier.table is None:
            raise AttackError(
                expected="a model that was trained with a substitution table",
                got="one without",
                where="--substitutions run",
                remedy="choose a table, such as --substitutions counter_fitted",
            )
        return classifier.table
    table = opt.table_of(name, partial(opt.vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise AttackError(expected="a substitution table", got=repr(name), where="--substitutions")
    return table
