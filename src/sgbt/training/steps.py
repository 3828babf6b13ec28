"""From labelled texts to the batches of one epoch, whole or one process's share of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds, batches
from sgbt.models.worst_case import Margins
from sgbt.threats import UNKNOWN, SubstitutionIndex
from sgbt.training.objective import Step


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with their labels, as rows of the substitution index, or as vocabulary ids where there is none.

    A row beyond the vocabulary is a word that only the table knows: the model reads it as unknown, but its substitutes
    count all the same.
    """

    rows: RaggedIds
    labels: np.ndarray
    vocabulary_size: int
    substitutions: SubstitutionIndex | None
    offset: Margins | None = None
    """The margins of a fitted model whose logits are added to those of the model in training."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of every batch a process takes: each `of`-th text from the `part`-th on."""

    part: int = 0
    of: int = 1


def steps_of(
    examples: Examples,
    *,
    size: int,
    device: torch.device,
    substitutes: bool,
    seed: int | None = None,
    epoch: int = 0,
    skipped: int = 0,
    share: Share | None = None,
) -> Iterator[Step]:
    """The batches of an epoch from number `skipped` on; without a seed in order of length, for evaluation.

    `Step.weight` makes the mean over processes of (weight x mean over the share) the mean over the whole batch. A share
    without texts, of a batch smaller than the number of processes, is one text with weight zero.
    """
    share = share or Share()
    labels = torch.from_numpy(examples.labels)
    index = examples.substitutions if substitutes else None
    count = math.ceil(len(examples) / size)
    for number, batch in enumerate(batches(examples.rows, size=size, seed=seed)):
        if number < skipped:
            continue
        own = torch.arange(len(batch.rows))[share.part :: share.of]
        weight = len(own) * share.of / len(batch.rows)
        own = own if len(own) else torch.zeros(1, dtype=torch.int64)
        texts = batch.rows[own]
        rows, mask = _trimmed(batch.ids[own], batch.mask[own])
        yield Step(
            ids=rows.masked_fill(rows >= examples.vocabulary_size, UNKNOWN).to(device),
            mask=mask.to(device),
            labels=labels[texts].to(device),
            substitutions=index.for_rows(rows).to(device) if index is not None else None,
            epoch=epoch + number / count,
            weight=weight,
            offset=examples.offset.take(texts).to(device) if examples.offset is not None else None,
        )


def _trimmed(rows: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    longest = max(int(mask.sum(dim=1).max()), 1)
    return rows[:, :longest], mask[:, :longest]


def mixed(*numbers: int) -> int:
    """One seed from several numbers."""
    return int(np.random.SeedSequence(list(numbers)).generate_state(1, np.uint64)[0] >> 1)
