"""SeparableBound: a lower bound of margins that adds up over the words of a text, so that its minimum is exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sgbt.certify.specification import Specification
from sgbt.core.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class SeparableBound:
    """For every allowed text, margin >= constant + the sum of the gains of the swaps that make it.

    `constant` is [texts, rivals] and `gains` [swaps, rivals], one row for each of the `swaps`. Words vary
    independently, so the least value takes at each place the worst of its swaps, or none: this is where the exact
    minimum over known substitutes is taken, after all filters, directions and channels were added.

    Every bound of every tier is one of these, and what is not finite proves nothing: a NaN or infinity, as a chain of
    intervals leaves where it overflows, is minus infinity from here on, before anything is sorted or selected. A swap
    of such a gain may cost everything, and a text of such a constant has no bound.

    Where words that are replaced together do not add up, `within` [texts, rivals, numbers] may say more: its number n
    is a lower bound of the margin with at most n words replaced.
    """

    spec: Specification
    constant: Float[Tensor, "texts rivals"]
    gains: Float[Tensor, "swaps rivals"]
    within: Float[Tensor, "texts rivals numbers"] | None = None

    def __post_init__(self) -> None:
        for name in ("constant", "gains", "within"):
            given = getattr(self, name)
            if given is None:
                continue
            object.__setattr__(self, name, given.nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf))

    @staticmethod
    def flat(spec: Specification, constant: Float[Tensor, "texts rivals"]) -> SeparableBound:
        """A bound that does not depend on single words."""
        return SeparableBound(spec, constant, constant.new_zeros(len(spec.swaps), constant.shape[1]))

    def __add__(self, other: SeparableBound) -> SeparableBound:
        """The bound of a sum of margins, as of two channels: they read the same words, so gains add first."""
        within, size = None, max(0 if each.within is None else each.within.shape[2] for each in (self, other))
        if size:
            within = self.levels[..., :size] + other.levels[..., :size]
        return SeparableBound(self.spec, self.constant + other.constant, self.gains + other.gains, within)

    def times(self, weight: float) -> SeparableBound:
        """The bound of the margins times a weight above zero."""
        within = None if self.within is None else weight * self.within
        return SeparableBound(self.spec, weight * self.constant, weight * self.gains, within)

    @cached_property
    def drops(self) -> Float[Tensor, "texts rivals words"]:
        """What the worst choice at each place adds, never positive: [texts, rivals, words]."""
        texts, rivals = self.constant.shape
        words, swaps = self.spec.ids.shape[1], self.spec.swaps
        worst = self.constant.new_zeros(texts * words, rivals)
        spot = (swaps.text * words + swaps.place).unsqueeze(1).expand_as(self.gains)
        worst = worst.scatter_reduce(0, spot, self.gains, "amin", include_self=True)
        return worst.view(texts, words, rivals).transpose(1, 2)

    @cached_property
    def levels(self) -> Float[Tensor, "texts rivals numbers"]:
        """Lower bounds of the margins with at most 0, 1, ... words replaced, [texts, rivals, 1 + words].

        Replacing n words lowers the bound by at most the sum of its n worst drops.
        """
        start = self.constant.unsqueeze(2)
        levels = torch.cat([start, start + self.drops.sort(dim=2).values.cumsum(dim=2)], dim=2)
        if self.within is not None:
            size = min(self.within.shape[2], levels.shape[2])
            levels[..., :size] = torch.maximum(levels[..., :size], self.within[..., :size])
        return levels

    def lowest(self) -> Float[Tensor, "texts rivals"]:
        """The least margin that the bound allows, [texts, rivals], within the budget of replaced words."""
        budget = self.spec.budget
        if budget is None or budget >= self.drops.shape[2]:
            return self.constant + self.drops.sum(dim=2)
        least = self.constant + self.drops.topk(budget, dim=2, largest=False).values.sum(dim=2)
        return least if self.within is None else torch.maximum(least, self.levels[..., budget])

    def radius(self, slack: Float[Tensor, " texts"]) -> Int[Tensor, " texts"]:
        """The most words, at least 0, that may be replaced while all margins stay above `slack` [texts]; -1 if none.

        A text that holds however many are replaced has its number of replaceable words as radius. A bound made for a
        budget says nothing beyond it.
        """
        levels = self.levels
        holds = (levels > slack.view(-1, 1, 1)).all(dim=1).long()
        largest = holds.cumprod(dim=1).sum(dim=1) - 1
        radius = torch.minimum(largest, self.spec.replaceable)
        return radius if self.spec.budget is None else radius.clamp(max=self.spec.budget)
