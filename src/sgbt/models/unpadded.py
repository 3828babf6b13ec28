"""Logits of texts that lie end to end, without padding: a role for models that look features up."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from sgbt.data import RaggedIds


@singledispatch
def logits_unpadded(model: Any, texts: RaggedIds) -> Tensor | None:
    """Logits [texts, classes] in float64, those of `forward` up to rounding; None where a model has no such way.

    Registered beside each kind that has one. What bounds the rounding of sums in `forward` bounds it in any order.
    """
    return None


def has_own_forward(model: Any, kind: type) -> bool:
    """Whether a subclass answers by other rules than its kind."""
    return type(model).forward is not kind.forward  # type: ignore[attr-defined]


def rows_of(texts: RaggedIds) -> Tensor:
    """The text of every word."""
    return torch.repeat_interleave(torch.arange(len(texts)), torch.from_numpy(texts.lengths))
