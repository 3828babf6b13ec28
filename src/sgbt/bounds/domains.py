"""Where a bound holds: boxes that are proven to contain every value, and ranges that were merely observed.

A proven domain is an `Interval`. A range seen on training batches, which the paper's predecessor used, is an
`ObservedRange`: a different type, because a text that was not in those batches may leave it. A bound built from one is
marked, may regularise, and refuses to certify.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.bounds.activations import SIGMOID, TANH
from sgbt.bounds.interval import Interval
from sgbt.core.errors import BoundError
from sgbt.core.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True, eq=False)
class ObservedRange:
    """The smallest box around the values that some batches happened to show. Not a proof of anything."""

    seen: Interval

    @staticmethod
    def of(batch: Float[Tensor, "*batch size"]) -> ObservedRange:
        """The range of the last dimension's coordinates over all rows of a batch (..., size).

        The values are data, not parameters: a range has no gradient to the network that produced them.
        """
        return ObservedRange(Interval.hull(batch.detach().flatten(0, -2) if batch.ndim > 1 else batch.detach()[None]))

    def widen(self, batch: Float[Tensor, "*batch size"]) -> ObservedRange:
        """The range after seeing one more batch."""
        return ObservedRange(self.seen.join(ObservedRange.of(batch).seen))


Domain = Interval | ObservedRange
"""What a bound may be built over. Only an Interval is proven."""


def is_proven(*domains: Domain) -> bool:
    """Whether a bound over these domains may certify."""
    return all(isinstance(domain, Interval) for domain in domains)


def settle(domain: Domain, shape: tuple[int, ...], *, like: Tensor, where: str) -> Interval:
    """The box of a domain, expanded to a shape, in the precision and on the device of the layer's weights."""
    box = domain if isinstance(domain, Interval) else domain.seen
    if box.lower.ndim > len(shape) or any(b not in (1, s) for b, s in zip(box.shape[::-1], shape[::-1], strict=False)):
        raise BoundError(expected=f"a box of shape {shape}", got=f"one of shape {tuple(box.shape)}", where=where)
    if not bool(torch.isfinite(box.lower).all() and torch.isfinite(box.upper).all()):
        raise BoundError(expected="a bounded box", got="an infinite end", where=where)
    return box.to(like).expand(*shape)


def embedding_table_box(vectors: Float[Tensor, "words width"]) -> Interval:
    """The box around every row of an embedding table (words, d0): it holds every word that can ever occur."""
    return Interval.hull(vectors)


def substitution_box(
    vectors: Float[Tensor, "words width"], ids: Int[Tensor, "*places choices"], allowed: Bool[Tensor, "*places choices"]
) -> Interval:
    """The box around each word and its allowed substitutes, position by position: shape (..., d0).

    `ids` (..., choices) are the word and its substitutes at every position, `allowed` (..., choices) says which of
    them count; each position needs one at least.
    """
    if ids.shape != allowed.shape or not bool(allowed.any(-1).all()):
        raise BoundError(
            expected="ids and allowed of one shape, with at least one allowed word at every position",
            got=f"shapes {tuple(ids.shape)} and {tuple(allowed.shape)}",
            where="substitution_box",
        )
    choices, out = vectors[ids], ~allowed[..., None]
    return Interval(
        choices.masked_fill(out, torch.inf).amin(-2),
        choices.masked_fill(out, -torch.inf).amax(-2),
    )


def hidden_state_box(size: int, *, dtype: torch.dtype = torch.float64) -> Interval:
    """|h| <= 1: h = sigma(o) tanh(c) is a product of numbers below one in magnitude, from h_0 = 0 on."""
    return Interval.symmetric(torch.ones(size, dtype=dtype))


def cell_state_box(size: int, *, steps: int, dtype: torch.dtype = torch.float64) -> Interval:
    """|c_t| <= t, for all t up to `steps`: c_0 = 0 and each step adds less than one, having shrunk what was there."""
    return Interval.symmetric(torch.full((size,), _checked(steps), dtype=dtype))


def reachable_cell_state(gates: Interval, *, steps: int | None = None) -> Interval:
    """A box that c never leaves in so many steps, or ever, given the gates' pre-activation ranges (4, d).

    c' = sigma(f) c + p with p = sigma(I) tanh(g). Let F be the greatest sigma(f) and P the greatest p, or 0 if that is
    negative. From c_0 = 0, t steps add up to c_t <= P (1 + F + ... + F^(t-1)) <= P min(t, 1 / (1 - F)); likewise below.
    Without `steps` this is the fixed point of the recursion, U = P / (1 - F): F U + P = U, so c <= U implies c' <= U.
    1 - F is computed as sigma(-f), which keeps its precision when F is close to one. Over wide boxes F is so close that
    the fixed point is of no use (and refused where it is infinite in the precision at hand): give the steps.
    """
    inputs, forget, candidate = gates[0], gates[1], gates[2]
    horizon = 1 / torch.sigmoid(-forget.upper)
    if steps is not None:
        horizon = horizon.clamp(max=_checked(steps))
    added = SIGMOID.range(inputs) * TANH.range(candidate)
    lower, upper = added.lower.clamp(max=0) * horizon, added.upper.clamp(min=0) * horizon
    if not bool(torch.isfinite(lower).all() and torch.isfinite(upper).all()):
        raise BoundError(
            expected="a forget gate below one",
            got="one that rounds to one over this domain",
            where="reachable_cell_state",
            remedy="give steps, the length of the longest text, or a smaller box of inputs",
        )
    return Interval(lower, upper)


def _checked(steps: int) -> float:
    if steps < 0:
        raise BoundError(expected="a number of steps that is not negative", got=str(steps), where="cell state")
    return float(steps)
