"""What autograd functions of compiled loops share: whether they are for some tensors, and the way round them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor


def compiled_for(*tensors: Tensor) -> bool:
    """Whether Numba is installed, and these are numbers of one precision, float32 or float64, of the processor."""
    first = tensors[0].dtype
    return (
        all(tensor.device.type == "cpu" and tensor.dtype == first for tensor in tensors)
        and first in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
        and installed()
    )


@cache
def installed() -> bool:
    """Whether there is Numba."""
    return find_spec("numba") is not None


def plain_gradients(
    plain: Callable[..., tuple[Tensor, ...]],
    tensors: Sequence[Tensor],
    needed: Sequence[bool],
    options: Sequence[object],
    gradients: Sequence[Tensor],
) -> list[Tensor | None]:
    """The gradients of the plain way, which have gradients themselves."""
    wanted = [tensor for tensor, need in zip(tensors, needed, strict=True) if need]
    back = iter(torch.autograd.grad(plain(*tensors, *options), wanted, gradients, create_graph=True))
    return [next(back) if need else None for need in needed]
