"""Weights that no answer and no proof may rest on: NaN, infinities, and numbers too large to compute with."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor


def odd_weight(weights: Mapping[str, Tensor], *, most: float = math.inf) -> tuple[str, str] | None:
    """The first tensor with a NaN, an infinity or a number above `most` in size, and what that is; None if none has."""
    for name, tensor in weights.items():
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        low, high = (float(end) for end in tensor.detach().aminmax())
        if math.isnan(low) or math.isnan(high):
            return name, "a NaN"
        size = max(-low, high)
        if size == math.inf or size > most:
            return name, "an infinity" if size == math.inf else f"{size:.3g}"
    return None
