"""What a run begins with: a model of its own, the words it reads, and the texts in their ids."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TypeVar

import torch
from torch import nn

from sgbt.core.errors import TrainingError
from sgbt.data import Split, Tokenizer
from sgbt.models import Bag, BagOfNgrams, BagOfWords, BiLSTM, TextCNN
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.training.config import TrainingConfig
from sgbt.training.linear import bag_vocabulary
from sgbt.training.steps import Examples

M = TypeVar("M", bound=TextCNN | BiLSTM | BagOfWords | BagOfNgrams)


def adopt_vocabulary(
    model: TextCNN | BiLSTM | Bag,
    vocabulary: Vocabulary | None,
    counts: Counter[str],
    table: SubstitutionTable | None,
    config: TrainingConfig,
) -> Vocabulary:
    """The vocabulary of the model's embedding: the given one, or that of train."""
    if isinstance(model, Bag):
        return vocabulary or bag_vocabulary(counts, table, rare=config.rare)
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
    if vocabulary is not None:
        model.embedding.adopt(vocabulary)
        return vocabulary
    kept = {word: count for word, count in counts.items() if source.row_of(word) is not None or count >= config.rare}
    vocabulary = Vocabulary.build(kept, table=table, vectors=source)
    model.embedding.adopt(vocabulary)
    return vocabulary


def copied(model: M) -> M:
    """A model of its own for every run; the table of vectors behind it, which nobody changes, is shared."""
    source = getattr(model, "source", None) if isinstance(model, Bag) else model.embedding.source
    own = copy.deepcopy(model, {id(source): source})
    if isinstance(own, Bag):
        own.cpu()
    return own


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
