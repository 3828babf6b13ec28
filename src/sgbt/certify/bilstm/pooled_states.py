"""The margins of a BiLSTM below which linear functions of its hidden states lie: where every tier but ibp begins.

The last state and the mean of all states are linear, so the margin itself is such a function. A maximum over the steps
is not. With a weight that is positive it is at least the state at any one step, or what some step always reaches. With
a weight that is negative it is at most max(h_t, M) for a step t and the greatest M that all others reach: a convex
function of h_t, so a line of any slope between 0 and 1 is above it that is above it at both ends of its interval.

Steps and slopes may be any. They are chosen by the text alone, or by boxes of a reference, so that more substitutes
move offsets only, and never raise a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sgbt.bounds.ibp import Pair
from sgbt.certify.lines import Box
from sgbt.core.shapes import Bool, Float
from sgbt.models.shapes import Lengths


@dataclass(frozen=True, eq=False)
class StateLine:
    """The function weight . h + offset of all hidden states, for every margin of every text.

    `weight` is [steps, directions, texts, rivals, hidden], zero at padding; `offset` is [texts, rivals].
    """

    weight: Float[Tensor, "steps directions texts rivals hidden"]
    offset: Float[Tensor, "texts rivals"]

    def at(self, hidden: Float[Tensor, "steps directions texts hidden"]) -> Float[Tensor, "texts rivals"]:
        """Its value for states [steps, directions, texts, hidden]."""
        return self.offset + torch.einsum("sdbrh,sdbh->br", self.weight, hidden)


@dataclass(frozen=True, eq=False)
class PooledStates:
    """A head over states that a pooling takes together.

    `head` is [directions, texts, rivals, hidden] and `bias` [texts, rivals], those of (label - rival); `hidden` are
    the states' boxes [steps, directions, texts, hidden], of which the first `lengths` [texts] are read.
    """

    pooling: str
    head: Float[Tensor, "directions texts rivals hidden"]
    bias: Float[Tensor, "texts rivals"]
    hidden: Box
    lengths: Lengths

    @cached_property
    def read(self) -> Bool[Tensor, "steps texts"]:
        """Whether a text has a word at a step, [steps, texts]."""
        return torch.arange(self.hidden.clean.shape[0], device=self.lengths.device).unsqueeze(1) < self.lengths

    @cached_property
    def margins(self) -> Float[Tensor, "texts rivals"]:
        """The margins of the texts themselves, [texts, rivals]."""
        if self.pooling != "max":
            return self.exact.at(self.hidden.clean)
        return self.bias + torch.einsum("dbrh,dbh->br", self.head, self._masked(self.hidden.clean).amax(dim=0))

    @cached_property
    def exact(self) -> StateLine:
        """The margins, where they are linear."""
        step = torch.arange(len(self.read), device=self.lengths.device).unsqueeze(1)
        read = step == self.lengths - 1 if self.pooling == "last" else self.read
        share = read.to(self.head.dtype) / read.sum(dim=0)
        return StateLine(share[:, None, :, None, None] * self.head, self.bias)

    def below(self, reference: Box | None = None) -> list[StateLine]:
        """Lines below the margins, each sound; with a reference, chosen by its boxes in place of the text alone.

        Of a maximum there are two: one follows a state above it, one has the constant that no state exceeds.
        """
        if self.pooling != "max":
            return [self.exact]
        clean = self.hidden.clean
        around = Box(clean, clean, clean) if reference is None else reference
        low = self._masked(around.lower).argmax(dim=0, keepdim=True)
        top, share = self._chord(around)
        return [self._peaks(low, top, share), self._peaks(low, top, torch.zeros_like(share))]

    def slopes(self) -> Pair:
        """What the margins' derivative by every state can be, the weights of a `StateLine` at least and at most.

        A maximum differs between two texts by a sum of shares of the states' differences: Lebourg's mean value theorem
        with Clarke's gradient on the way between them, which gives shares, that add up to one, to the states that are
        the greatest there. So a state that can win somewhere in the box counts with a share between 0 and 1, and one
        that always wins with 1.
        """
        if self.pooling != "max":
            return self.exact.weight, self.exact.weight
        best, second = self._leaders(self.hidden.upper)
        floor = self._masked(self.hidden.lower).amax(dim=0)
        wins = (self._masked(self.hidden.upper) >= floor).to(self.head.dtype)
        always = torch.zeros_like(wins).scatter_(0, best, (second < floor).to(wins.dtype).unsqueeze(0))
        ends = [share.unsqueeze(3) * self.head for share in (always, wins)]
        return torch.minimum(*ends), torch.maximum(*ends)

    def _peaks(self, low: Tensor, top: Tensor, slope: Tensor) -> StateLine:
        """Lines below the maxima in the states `low`, and above them in the states `top` with a slope.

        Below: max(h, L) with the greatest L that some state never goes below is at least h, and above h by L - h where
        h cannot reach L.
        """
        box = self.hidden
        floor = self._masked(box.lower).amax(dim=0)
        from_below = (floor - box.upper.gather(0, low)[0]).clamp(min=0)
        ceiling = self._masked(box.upper).scatter(0, top, -torch.inf).amax(dim=0)
        ends = [end.gather(0, top)[0] for end in (box.lower, box.upper)]
        from_above = torch.maximum(*(torch.maximum(end, ceiling) - slope * end for end in ends))
        rising, falling = self.head.clamp(min=0), self.head.clamp(max=0)
        offset = torch.einsum("dbrh,dbh->br", rising, from_below) + torch.einsum("dbrh,dbh->br", falling, from_above)
        weight = self.head.new_zeros(len(self.read), *self.head.shape)
        for step, part in ((low, rising), (top, falling * slope.unsqueeze(2))):
            weight.scatter_add_(0, step.unsqueeze(3).expand(1, *self.head.shape), part.unsqueeze(0))
        return StateLine(weight, self.bias + offset)

    def _chord(self, box: Box) -> tuple[Tensor, Tensor]:
        """The state that reaches highest, and the slope of the chord of max(h, M) over its interval.

        Of a single point it is one: the tangent where that state wins.
        """
        top, other = self._leaders(box.upper)
        lower, upper = box.lower.gather(0, top)[0], box.upper.gather(0, top)[0]
        width = upper - lower
        start = torch.minimum(torch.maximum(other, lower), upper)
        share = (upper - start) / torch.where(width > 0, width, torch.ones_like(width))
        return top, torch.where(width > 0, share, torch.ones_like(width))

    def _leaders(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """At which step the greatest value stands, [1, directions, texts, hidden], and the greatest of all others."""
        values = self._masked(values)
        step = values.argmax(dim=0, keepdim=True)
        return step, values.scatter(0, step, -torch.inf).amax(dim=0)

    def _masked(self, values: Tensor) -> Tensor:
        """Minus infinity where there is no word."""
        return values.masked_fill(~self.read[:, None, :, None], -torch.inf)
