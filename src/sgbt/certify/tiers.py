"""The tiers by name, cheap to dear, and how they apply to a model of one or more channels."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from operator import add

import torch
from torch import Tensor

from sgbt.certify.bilstm import BILSTM_TIERS, BiLSTMReading
from sgbt.certify.cnn import CNN_TIERS, CNNReading
from sgbt.certify.question import Question
from sgbt.certify.separable import SeparableBound
from sgbt.certify.word_tables import WordTables
from sgbt.errors import CertificateError
from sgbt.models import AnyModel, BiLSTM, GramBag, LinearBag, TextCNN, TwoChannel, worst_case_logits
from sgbt.models.bag_worst_case import WorstByWord, worst_by_word
from sgbt.models.finite import odd_weight
from sgbt.models.gram_worst_case import gram_worst_by_word, gram_worst_within

TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "full", "exact")
"""Every tier there is, in the order in which they are tried.

Two exist only where they add something: `full` for BiLSTMs (the boxes of a TextCNN's windows are exact already), and
`exact` for mean-pooled TextCNNs (`chain`) and for whatever reads codes (`encoded`). Where a tier does not exist it is
not tried.
"""

DEFAULT_TIERS = tuple(tier for tier in TIERS if tier != "full")
"""What is tried unless tiers are named: all but `full`, which takes seconds for a text of some hundred words."""


@dataclass(frozen=True, eq=False)
class OtherReading:
    """A model that has no tiers of its own but a worst case: that of tier ibp, for every tier."""

    model: AnyModel
    question: Question

    @cached_property
    def bounds(self) -> list[SeparableBound]:
        """The worst case word by word, exact within any budget for texts without ambiguous words, and as a whole.

        The latter is exact for a `LinearBag` whatever its words. Of a `GramBag` both are the same without a budget;
        with one, the whole counts how many words of each cell are replaced.
        """
        ask = self.question
        asked = (ask.ids, ask.allowed, ask.mask, ask.labels)
        found = []
        if ask.scale == 1.0 and isinstance(self.model, LinearBag):
            found.append(self._by_word(worst_by_word(self.model, *asked)))
        if ask.scale == 1.0 and isinstance(self.model, GramBag):
            slots = torch.arange(ask.ids.shape[2], device=ask.ids.device)
            allowed = ask.allowed & ((slots == 0) | (ask.budget != 0))  # cells of several words know no other budget
            found.append(self._by_word(gram_worst_by_word(self.model, ask.ids, allowed, ask.mask, ask.labels)))
            if ask.budget:
                within = gram_worst_within(self.model, *asked, budget=ask.budget)
                found.append(SeparableBound.flat(ask, -within.gather(1, ask.rivals)))
            return found
        worst = worst_case_logits(self.model, *asked, epsilon=ask.scale)
        found.append(SeparableBound.flat(ask, -worst.gather(1, ask.rivals)))
        return found

    def _by_word(self, words: WorstByWord) -> SeparableBound:
        ask, swaps = self.question, self.question.swaps
        gains = words.gains[swaps.text, swaps.place, swaps.slot].gather(1, ask.rivals[swaps.text])
        return SeparableBound(ask, -words.fixed.gather(1, ask.rivals), -gains)


Reading = CNNReading | BiLSTMReading | OtherReading


LARGEST_WEIGHT = 1e50
"""Weights beyond this are refused: with all below it no pre-activation, state or logit can overflow in float64."""


def require_finite(model: AnyModel) -> None:
    """Refuse a model of whose numbers nothing can be proven."""
    if (odd := odd_weight(model.state_dict(), most=LARGEST_WEIGHT)) is not None:
        raise CertificateError(
            wanted=f"finite weights of at most {LARGEST_WEIGHT:g} in {odd[0]}",
            got=odd[1],
            where="the model",
            remedy="train again",
        )


def in_float64(model: AnyModel) -> AnyModel:
    """A copy in double precision, without dropout, that no gradient reaches."""
    return copy.deepcopy(model).double().eval().requires_grad_(False)


def readings_of(model: AnyModel, question: Question, tables: WordTables) -> list[Reading]:
    """One reading for each channel of a model in float64. `tables` serves all questions to this model."""
    if isinstance(model, TwoChannel):
        return [reading for part in model.parts for reading in readings_of(part, question, tables)]
    if isinstance(model, TextCNN):
        return [CNNReading(model, question, tables)]
    return [BiLSTMReading(model, question, tables) if isinstance(model, BiLSTM) else OtherReading(model, question)]


def offered(tier: str, readings: Sequence[Reading]) -> bool:
    """Whether a tier is more than the one before it for some channel of the model."""
    return any(_has(tier, reading) for reading in readings)


def bounds_of(tier: str, readings: Sequence[Reading]) -> list[SeparableBound]:
    """All bounds that a tier offers; each is sound, so the best counts. Those of channels are added.

    A channel for which a tier does not exist takes part with tier crown.
    """
    menus = [_menu(tier, reading) for reading in readings]
    return [reduce(add, choice) for choice in product(*menus)]


@torch.no_grad()
def margin_bounds(tier: str, model: AnyModel, question: Question) -> Tensor:
    """Lower bounds of every margin over all allowed substitutions, [texts, rivals], by one tier alone.

    `model` is in float64 (`in_float64`); rivals are the classes other than the label (`question.rivals`).
    """
    check_tiers((tier,))
    return lowest_of(bounds_of(tier, readings_of(model, question, WordTables())))


def lowest_of(bounds: Sequence[SeparableBound]) -> Tensor:
    """The best of several bounds, rival by rival."""
    return torch.stack([bound.lowest() for bound in bounds]).amax(dim=0)


def check_tiers(tiers: Sequence[str]) -> tuple[str, ...]:
    """Known tiers, each once, cheap before dear."""
    unknown = [tier for tier in tiers if tier not in TIERS]
    if unknown or not tiers:
        raise CertificateError(
            wanted=f"tiers among {', '.join(TIERS)}", got=repr(unknown[0]) if unknown else "none", where="tiers"
        )
    return tuple(tier for tier in TIERS if tier in tiers)


def _has(tier: str, reading: Reading) -> bool:
    if tier == "full":
        return isinstance(reading, BiLSTMReading)
    if tier != "exact":
        return True
    if isinstance(reading, OtherReading):
        return False
    pooled_by_mean = isinstance(reading, CNNReading) and reading.model.config.pooling == "mean"
    return pooled_by_mean or reading.model.embedding.codes is not None


def _menu(tier: str, reading: Reading) -> list[SeparableBound]:
    tier = tier if _has(tier, reading) else "crown"
    if isinstance(reading, CNNReading):
        return CNN_TIERS[tier](reading)
    if isinstance(reading, BiLSTMReading):
        return BILSTM_TIERS[tier](reading)
    return reading.bounds
