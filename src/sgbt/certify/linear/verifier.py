"""Verifiers of models whose worst case is known as a whole: the linear models, and whatever has no tiers of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.models import BagOfNgrams, BagOfWords, worst_case_logits
from sgbt.models.bag_of_ngrams.worst_case import gram_worst_by_word, gram_worst_levels
from sgbt.models.bag_of_words.worst_case import WorstByWord, worst_by_word

COUNTED = (2, 8, 32, 128)
"""How many replaced words of a BagOfNgrams's text are counted for its radius: more where fewer are proven."""


@dataclass(frozen=True, eq=False)
class WorstCaseVerifier:
    """A model whose worst case is that of tier ibp, for every tier."""

    model: Any
    spec: Specification

    def offers(self, tier: str) -> bool:
        """Every tier but those that some models have beyond the others."""
        return tier not in ("full", "exact")

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The same whatever the tier."""
        return self.known

    @cached_property
    def known(self) -> list[SeparableBound]:
        """The worst case as a whole."""
        return [self.whole()]

    def whole(self) -> SeparableBound:
        """The worst case over all words at once, whatever the budget."""
        ask = self.spec
        worst = worst_case_logits(self.model, ask.ids, ask.allowed, ask.mask, ask.labels, epsilon=ask.scale)
        return SeparableBound.flat(ask, -worst.gather(1, ask.rivals))

    def by_word(self, words: WorstByWord) -> SeparableBound:
        """The worst case as a sum over words, of which a budget takes the greatest."""
        ask, swaps = self.spec, self.spec.swaps
        gains = words.gains[swaps.text, swaps.place, swaps.slot].gather(1, ask.rivals[swaps.text])
        return SeparableBound(ask, -words.fixed.gather(1, ask.rivals), -gains)


@dataclass(frozen=True, eq=False)
class BagOfWordsVerifier(WorstCaseVerifier):
    """The worst case word by word, exact within any budget for texts without ambiguous words, and as a whole, exact."""

    @cached_property
    def known(self) -> list[SeparableBound]:
        """Both, where substitutes count in full."""
        ask = self.spec
        if ask.scale != 1.0:
            return [self.whole()]
        return [self.by_word(worst_by_word(self.model, ask.ids, ask.allowed, ask.mask, ask.labels)), self.whole()]


@dataclass(frozen=True, eq=False)
class BagOfNgramsVerifier(WorstCaseVerifier):
    """The worst case word by word, and bounds for every number of words replaced, neighbours or not."""

    @cached_property
    def known(self) -> list[SeparableBound]:
        """Both as one bound, where substitutes count in full."""
        ask = self.spec
        if ask.scale != 1.0:
            return [self.whole()]
        slots = torch.arange(ask.ids.shape[2], device=ask.ids.device)
        allowed = ask.allowed & ((slots == 0) | (ask.budget != 0))  # cells of several words know no other budget
        bound = self.by_word(gram_worst_by_word(self.model, ask.ids, allowed, ask.mask, ask.labels))
        return [replace(bound, within=self.counted(bound))]

    def counted(self, bound: SeparableBound) -> Tensor:
        """Lower bounds with at most 0, 1, ... words replaced, [texts, rivals, numbers], as far as they may be positive.

        Without a budget, numbers are counted for texts that are not proven for any number, few words first.
        """
        ask = self.spec
        size = 1 + min(COUNTED[-1] if ask.budget is None else ask.budget, ask.ids.shape[1])
        found = bound.constant.new_full((*ask.rivals.shape, size), -torch.inf)
        open_ = torch.arange(len(ask), device=found.device)
        if ask.budget is None:
            open_ = open_[bound.lowest().amin(dim=1) <= 0]
        for most in COUNTED if ask.budget is None else (ask.budget,):
            budget = min(most, size - 1)
            if not budget or not len(open_):
                break
            asked = (part[open_] for part in (ask.ids, ask.allowed, ask.mask, ask.labels))
            worst = gram_worst_levels(self.model, *asked, budget=budget).transpose(1, 2)
            rivals = ask.rivals[open_].unsqueeze(2).expand(-1, -1, worst.shape[2])
            found[open_, :, : budget + 1] = -worst.gather(1, rivals)
            open_ = open_[(found[open_, :, budget].amin(dim=1) > 0) & (budget < size - 1)]
        return found


@verifiers.register
def _linear_bag(model: BagOfWords, spec: Specification, tables: WordTables) -> list[Verifier]:
    return [BagOfWordsVerifier(model, spec)]


@verifiers.register
def _gram_bag(model: BagOfNgrams, spec: Specification, tables: WordTables) -> list[Verifier]:
    return [BagOfNgramsVerifier(model, spec)]
