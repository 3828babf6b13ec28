"""The least and the greatest over the words of each set, with a compiled way that is led back to the winners alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgbt.bounds.ibp import Pair, extremes_over_choices
from sgbt.core.shapes import Float
from sgbt.models.compiled_loops import compiled_for, plain_gradients
from sgbt.models.word_sets import WordSets

MOST_CHOICES = 63
"""So many bits has a positive number, one for each choice of a set that has the least or the greatest."""


def extremes_of_sets(values: Float[Tensor, "words numbers"], sets: WordSets, *, epsilon: float) -> Pair:
    """`sgbt.bounds.ibp.extremes_over_choices`, [sets, numbers] twice."""
    compiled = sets.choices.shape[1] <= MOST_CHOICES and compiled_for(values)
    way: Callable[..., Pair] = _SetExtremes.apply if compiled else _plain
    return way(values, sets, epsilon)


def holders(shape: tuple[int, ...], sets: WordSets) -> np.ndarray[Any, Any]:
    """Room for which choices have the least, and which the greatest."""
    return np.empty((2, *shape), np.int32 if sets.choices.shape[1] < 32 else np.int64)


def _plain(values: Tensor, sets: WordSets, epsilon: float) -> Pair:
    return extremes_over_choices(values, sets.choices, sets.allowed, epsilon=epsilon)


class _SetExtremes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, sets: WordSets, epsilon: float) -> Pair:
        from sgbt.models.winning_windows import extremes

        shape = len(sets.choices), 1, values.shape[1]
        ends, who = values.new_empty(3, *shape), holders(shape, sets)
        starts, members = sets.members()
        extremes(values.contiguous().numpy(), starts, members, epsilon, 0, ends.numpy(), who)
        ctx.save_for_backward(values)
        ctx.options, ctx.who = (sets, epsilon), who[:, :, 0]
        return ends[0, :, 0], ends[1, :, 0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (values,), (sets, epsilon) = ctx.saved_tensors, ctx.options
        if torch.is_grad_enabled():  # for gradients of gradients
            return (*plain_gradients(_plain, (values,), (True,), ctx.options, gradients), None, None)
        from sgbt.models.winning_windows import spread_over_sets

        wrt_values, (starts, members) = torch.zeros_like(values), sets.members()
        for gradient, who in zip(gradients, ctx.who, strict=True):
            spread_over_sets(gradient.contiguous().numpy(), who, starts, members, epsilon, wrt_values.numpy())
        return wrt_values, None, None
