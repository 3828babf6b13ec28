"""tanh in float32 as a quotient of polynomials, compiled by Numba: import it only where that is installed.

The rational function is that of degree 13 over 6 in Eigen, whose error is of the order of float32's own. Numerator and
denominator are apart, so that quotients can be added and multiplied before they are divided.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

config: Any = numba.config
features = llvm.get_host_cpu_features()
if features.get("avx512f") and not config.CPU_FEATURES:  # else LLVM uses half of a vector, for half as long again
    config.CPU_NAME = llvm.get_host_cpu_name()
    config.CPU_FEATURES = f"{features.flatten()},-prefer-256-bit"

A0, A1, A2, A3, A4, A5, A6 = (
    np.float32(coefficient)
    for coefficient in (
        4.89352455891786e-03,
        6.37261928875436e-04,
        1.48572235717979e-05,
        5.12229709037114e-08,
        -8.60467152213735e-11,
        2.00018790482477e-13,
        -2.76076847742355e-16,
    )
)
B0, B1, B2, B3 = (
    np.float32(coefficient)
    for coefficient in (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)
)
FAR = np.float32(7.90531110763549805)
"""From here on tanh is 1 in float32."""
HALF = np.float32(0.5)

compiled_inline = numba.njit(inline="always", fastmath={"arcp", "contract"}, cache=True)
"""Compiles functions of such numbers."""
compiled_loop = numba.njit(fastmath={"arcp", "contract"}, error_model="numpy", nogil=True, cache=True)
"""Compiles loops over such numbers."""


@compiled_inline
def clipped(x: Any) -> Any:
    """The number of the same tanh that is nearest to zero."""
    return min(max(x, -FAR), FAR)


@compiled_inline
def above(x: Any, square: Any) -> Any:
    """The numerator of tanh(x)."""
    y = square
    return x * (A0 + y * (A1 + y * (A2 + y * (A3 + y * (A4 + y * (A5 + y * A6))))))


@compiled_inline
def below(square: Any) -> Any:
    """The denominator."""
    y = square
    return B0 + y * (B1 + y * (B2 + y * B3))


@compiled_inline
def tanh(x: Any) -> Any:
    """The quotient."""
    x = clipped(x)
    square = x * x
    return above(x, square) / below(square)


@compiled_inline
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return HALF + HALF * tanh(HALF * x)
