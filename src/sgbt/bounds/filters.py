"""The filters of a convolution, in the layouts that the bounds read."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from sgbt.core.errors import BoundError


@dataclass(frozen=True, eq=False)
class Filters:
    """Weights W (d, d0, k) and bias (d) as torch has them, W tap by tap (k, d, d0), and |W| tap by tap.

    The last two are laid out and computed once: a total then reads contiguous memory, and |W| has one backward pass.
    """

    weights: Tensor
    bias: Tensor | None
    taps: Tensor
    magnitudes: Tensor

    @staticmethod
    def of(conv: nn.Conv1d) -> Filters:
        """The filters of a convolution, with gradients attached."""
        taps = conv.weight.permute(2, 0, 1).contiguous()
        return Filters(conv.weight, conv.bias, taps, taps.abs())


def padding_of(conv: nn.Conv1d) -> int:
    """The zeros on either side, for the kind of convolution that is bounded: stride 1, dilation 1, one group."""
    asked = {"stride": conv.stride[0], "dilation": conv.dilation[0], "groups": conv.groups}
    for name, value in asked.items():
        if value != 1:
            raise BoundError(expected=f"a convolution with {name}=1", got=f"{name}={value}", where="ConvBounds.of")
    if conv.padding == "valid":
        return 0
    if conv.padding == "same" and conv.kernel_size[0] % 2 == 0:
        raise BoundError(expected="equal padding on either side", got="padding='same' with an even kernel")
    padding = conv.kernel_size[0] // 2 if conv.padding == "same" else int(conv.padding[0])
    if padding and conv.padding_mode != "zeros":
        raise BoundError(expected="padding by zeros", got=f"padding_mode={conv.padding_mode!r}", where="ConvBounds.of")
    return padding
