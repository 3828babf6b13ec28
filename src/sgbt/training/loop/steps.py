"""What training reads: the words (`Corpus`), labelled texts in ids (`Examples`), the batches of an epoch (`Step`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds, batches
from sgbt.models import Network
from sgbt.models.worst_case import Margins
from sgbt.threats import UNKNOWN, SubstitutionIndex, Substitutions, SubstitutionTable, Vocabulary
from sgbt.threats.codes import community_codes


@dataclass(frozen=True, slots=True)
class Step:
    """One batch and where training stands: `epoch` counts finished epochs, with the fraction of the running one.

    `weight` is not one only where several processes share a batch unevenly (`steps_of`). `offset` are the margins of a
    fitted model whose logits are added to those of the model in training (`sgbt.training.recipes`).
    """

    ids: Tensor
    mask: Tensor
    labels: Tensor
    substitutions: Substitutions | None
    epoch: float
    weight: float = 1.0
    offset: Margins | None = None

    def joined(self, logits: Tensor, *, epsilon: float = 0.0) -> Tensor:
        """The model's logits, or its worst case at `epsilon`, with the offset added."""
        return logits if self.offset is None else logits + self.offset.at(epsilon)

    def joined_margins(self, own: Margins) -> Margins:
        """The model's logits and worst case, each with the offset added."""
        return own if self.offset is None else Margins(self.joined(own.clean), self.joined(own.worst, epsilon=1.0))

    def vectors(self, model: Network) -> Tensor:
        """The vectors of all choices, [texts, words, choices, width]."""
        found: Tensor = model.embedding(model.embedding.encode(self.choices.ids))
        return found

    @property
    def choices(self) -> Substitutions:
        """The words allowed at every position, for objectives that need them."""
        assert self.substitutions is not None, "an objective that needs substitutions got none"
        return self.substitutions


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of the words before training, from train and the substitution table alone."""

    vocabulary: Vocabulary
    counts: Mapping[str, int]
    table: SubstitutionTable | None
    _clusters: dict[float, np.ndarray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def clusters(self, resolution: float) -> np.ndarray:
        """The synonym cluster of every id (`community_codes`), found once; without a table every id is its own."""
        if self.table is None:
            return np.arange(len(self.vocabulary))
        if resolution not in self._clusters:
            found = community_codes(self.vocabulary, self.table, self.counts, resolution=resolution)
            self._clusters[resolution] = found
        return self._clusters[resolution]


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

    @property
    def ids(self) -> RaggedIds:
        """The texts as the model reads them."""
        return RaggedIds(np.where(self.rows.flat < self.vocabulary_size, self.rows.flat, UNKNOWN), self.rows.starts)


@dataclass(frozen=True, slots=True)
class ProcessShare:
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
    share: ProcessShare | None = None,
) -> Iterator[Step]:
    """The batches of an epoch from number `skipped` on; without a seed in order of length, for evaluation.

    `Step.weight` makes the mean over processes of (weight x mean over the share) the mean over the whole batch. A share
    without texts, of a batch smaller than the number of processes, is one text with weight zero.
    """
    share = share or ProcessShare()
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
