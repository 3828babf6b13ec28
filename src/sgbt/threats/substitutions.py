"""Substitutions: for one batch, the ids that may stand at every position."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.core.errors import LexiconError
from sgbt.threats.statistics import SHOWN, BatchStatistics
from sgbt.threats.vocabulary import PADDING, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Substitutions:
    """What a model may be shown at each position of a batch of texts.

    `ids` [texts, words, 1 + s] lists the choices and `allowed`, of the same shape, tells which of them count. Slot 0 is
    the word itself and always counts; the choices of a position are distinct; a slot that does not count repeats slot
    0, so that a minimum or maximum over all slots is right even without the mask. At padding there is only padding.
    """

    ids: Tensor
    allowed: Tensor

    def __post_init__(self) -> None:
        ids, allowed = self.ids, self.allowed
        if ids.dim() != 3 or ids.shape[2] < 1 or ids.shape != allowed.shape:
            raise LexiconError(
                expected="ids and allowed of one shape [texts, words, choices]",
                got=f"{tuple(ids.shape)} and {tuple(allowed.shape)}",
                where="Substitutions",
            )
        if ids.dtype != torch.int64 or allowed.dtype != torch.bool:
            raise LexiconError(
                expected="int64 ids and bool allowed", got=f"{ids.dtype} and {allowed.dtype}", where="Substitutions"
            )
        if not bool(allowed[..., 0].all()):
            raise LexiconError(expected="the word itself allowed everywhere", got="not", where="Substitutions")

    @property
    def original(self) -> Tensor:
        """The ids of the texts themselves, [texts, words]."""
        return self.ids[..., 0]

    @property
    def mask(self) -> Tensor:
        """True at words, False at padding, [texts, words]."""
        return self.original != PADDING

    @property
    def choices(self) -> Tensor:
        """How many ids may stand at each position, the original included, [texts, words]."""
        return self.allowed.sum(dim=2)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, texts: slice | Tensor | list[int]) -> Substitutions:
        return Substitutions(self.ids[texts], self.allowed[texts])

    def to(self, device: torch.device | str) -> Substitutions:
        """The same value on another device."""
        return Substitutions(self.ids.to(device), self.allowed.to(device))

    def combinations(self, text: int) -> int:
        """How many different id sequences one text can become, itself included: an exact whole number."""
        return math.prod(self.choices[text].tolist())

    def describe(self, vocabulary: Vocabulary) -> BatchStatistics:
        """For a person: how many words can be replaced, how many variants that makes, which words have most choices."""
        choices, mask = self.choices, self.mask
        logarithms = choices.double().log10().sum(dim=1)
        distinct = torch.unique(torch.stack([self.original.flatten(), choices.flatten()], dim=1), dim=0).tolist()
        best: dict[str, int] = {}
        for number, count in sorted(distinct, key=lambda pair: -pair[1]):
            if len(best) == SHOWN or count == 1:
                break
            best.setdefault(vocabulary.decode([number])[0], count - 1)
        return BatchStatistics(
            texts=len(self),
            words=int(mask.sum()),
            replaceable=int(((choices > 1) & mask).sum()),
            log10_combinations=tuple(logarithms.tolist()),
            most=tuple(best.items()),
        )
