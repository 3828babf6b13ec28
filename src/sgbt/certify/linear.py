"""Verifiers of models whose worst case is known as a whole: the linear models, and whatever has no tiers of its own.

Beside them, what rounding may do to the margins of the linear models, and how large those can be at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from sgbt.certify.rounding import DOUBLE, TIMES_IN_BOUNDS, float64_allowance, gamma, largest_logit
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, lowest_margin, verifiers, words_at_once
from sgbt.certify.word_tables import WordTables
from sgbt.models import BagOfNgrams, BagOfWords, worst_case_logits
from sgbt.models.bag_of_ngrams.worst_case import gram_worst_by_word, gram_worst_levels
from sgbt.models.bag_of_words.worst_case import WorstByWord, worst_by_word

Bag = BagOfWords | BagOfNgrams


@float64_allowance.register
@torch.no_grad()
def _in_float64(model: Bag, *, longest: int) -> float:
    features = most_features(model, longest) + 128
    return TIMES_IN_BOUNDS * gamma(features, DOUBLE) * largest_logit(model, longest=longest)


@largest_logit.register
def _of_words(model: BagOfWords, *, longest: int) -> float:
    """The squares of the factors of n words add up to one, so they to sqrt(n) at most."""
    return most_features(model, longest) / math.sqrt(max(longest, 1)) * _heaviest(model) + _bias(model)


@largest_logit.register
def _of_ngrams(model: BagOfNgrams, *, longest: int) -> float:
    return most_features(model, longest) * _heaviest(model) + _bias(model)


def _heaviest(model: Bag) -> float:
    return float(model.weight.abs().amax()) if model.weight.numel() else 0.0


def _bias(model: Bag) -> float:
    return float(model.bias.abs().amax())


@singledispatch
def most_features(model: Any, longest: int) -> int:
    """How many weights a text of so many words can have."""
    raise TypeError(type(model).__name__)


@most_features.register
def _features_of_words(model: BagOfWords, longest: int) -> int:
    return longest * (1 + len(model.config.features))


@most_features.register
def _features_of_ngrams(model: BagOfNgrams, longest: int) -> int:
    config = model.config
    return longest * config.longest * len(config.resolutions) * (2 if config.ending else 1)


@words_at_once.register
def _batch(model: Bag) -> int:
    return 1 << 14


@lowest_margin.register
def _lowest_of_ngrams(model: BagOfNgrams, *, longest: int) -> float:
    """Every n-gram counts once, so no text has more than all of them."""
    return -_greatest_lead(model, lambda leads: float(leads.sum()))


@lowest_margin.register
def _lowest_of_words(model: BagOfWords, *, longest: int) -> float:
    """A position has one word and one feature of each family, and the factors of n positions, whose squares add up to
    one, add up to at most the square root of n.
    """
    features = (1 + len(model.config.features)) * max(longest, 1) ** 0.5
    return -_greatest_lead(model, lambda leads: float(leads.amax()) * features)


@torch.no_grad()
def _greatest_lead(model: Bag, reach: Callable[[Tensor], float]) -> float:
    """The greatest over pairs of classes of what the differences of their weights reach, with their biases."""
    return max(
        reach((model.weight[:, one] - model.weight[:, other]).double().abs())
        + abs(float(model.bias[one] - model.bias[other]))
        for one, other in permutations(range(model.config.classes), 2)
    )


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
