"""One step of many LSTMs in one pass over memory, compiled by Numba: import it only where that is installed.

A gate's input goes through tanh as a quotient of polynomials: the rational function of degree 13 over 6 in Eigen, whose
error is of the order of float32's own. Quotients are added and multiplied before they are divided, so that a step takes
two divisions instead of five.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

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

_compiled = numba.njit(inline="always", fastmath={"arcp", "contract"}, cache=True)
_compiled_loop = numba.njit(fastmath={"arcp", "contract"}, error_model="numpy", nogil=True, cache=True)


@_compiled
def _clipped(x: Any) -> Any:
    return min(max(x, -FAR), FAR)


@_compiled
def _above(x: Any, square: Any) -> Any:
    """The numerator of tanh(x)."""
    y = square
    return x * (A0 + y * (A1 + y * (A2 + y * (A3 + y * (A4 + y * (A5 + y * A6))))))


@_compiled
def _below(square: Any) -> Any:
    """The denominator."""
    y = square
    return B0 + y * (B1 + y * (B2 + y * B3))


@_compiled_loop
def step(gates: Array, inputs: Array, words: NDArray[np.int64], cell: Array, hidden: Array) -> None:
    """Read one word with each row of states, in place. Hidden states are left doubled.

    `gates` [rows, 4 x size] is what the states give to the gates, in the order input, forget, output, value, of which
    the first three are halved; `inputs[words]` is what the words give; `cell` and `hidden` are [rows, size].
    """
    rows, size = cell.shape
    for row in range(rows):
        given = inputs[words[row]]
        for unit in range(size):
            i = _clipped(gates[row, unit] + given[unit])
            f = _clipped(gates[row, size + unit] + given[size + unit])
            o = _clipped(gates[row, 2 * size + unit] + given[2 * size + unit])
            v = _clipped(gates[row, 3 * size + unit] + given[3 * size + unit])
            ii, ff, oo, vv = i * i, f * f, o * o, v * v
            i_below, f_below, o_below, v_below = _below(ii), _below(ff), _below(oo), _below(vv)
            both = i_below * v_below
            kept = cell[row, unit] * (f_below + _above(f, ff)) * both
            added = _above(v, vv) * (i_below + _above(i, ii)) * f_below
            after = HALF * (kept + added) / (f_below * both)
            cell[row, unit] = after
            c = _clipped(after)
            cc = c * c
            hidden[row, unit] = _above(c, cc) * (o_below + _above(o, oo)) / (_below(cc) * o_below)
