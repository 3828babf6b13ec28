"""When a structured operator may be written out entry by entry."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sgbt.core.errors import BoundError

DENSE_LIMIT_BYTES = 2**30  # one gibibyte: 64 filters on four words fit, a text of 512 words does not


def require_affordable(shape: Sequence[int], like: Tensor, *, where: str) -> None:
    """Refuse to write out a tensor above `DENSE_LIMIT_BYTES`, and say how large it would be."""
    size = math.prod(shape) * like.element_size()
    if size > DENSE_LIMIT_BYTES:
        raise BoundError(
            expected=f"a dense tensor of at most {human_size(DENSE_LIMIT_BYTES)}",
            got=f"shape {tuple(shape)}, which would take {human_size(size)}",
            where=where,
            remedy="use total(), apply() and entry(), which never build it",
        )


def require_index(index: int, size: int, *, where: str) -> int:
    """An index that exists."""
    if not 0 <= index < size:
        raise BoundError(expected=f"an index from 0 to {size - 1}", got=str(index), where=where)
    return index


def require_displacement(displacement: Tensor, inputs: int, *, where: str) -> None:
    """A displacement of the operator's inputs, with any dimensions of batch in front."""
    if displacement.ndim == 0 or displacement.shape[-1] != inputs or bool(torch.isnan(displacement).any()):
        raise BoundError(
            expected=f"a displacement of shape (..., {inputs}) without NaN",
            got=f"shape {tuple(displacement.shape)}" + (" with NaN" if displacement.isnan().any() else ""),
            where=where,
        )


def human_size(size: float) -> str:
    """A number of bytes as a person reads it, in powers of 1,000."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"
