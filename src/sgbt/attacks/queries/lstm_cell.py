"""One step of many LSTMs in one pass over memory, compiled by Numba: import it only where that is installed.

A gate's input goes through tanh as a quotient of polynomials. Quotients are added and multiplied before they are
divided, so that a step takes two divisions instead of five.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbt.models.rational_tanh import HALF, above, below, clipped, compiled_loop

Array = NDArray[np.float32]


@compiled_loop
def step(gates: Array, inputs: Array, words: NDArray[np.int64], cell: Array, hidden: Array) -> None:
    """Read one word with each row of states, in place. Hidden states are left doubled.

    `gates` [rows, 4 x size] is what the states give to the gates, in the order input, forget, output, value, of which
    the first three are halved; `inputs[words]` is what the words give; `cell` and `hidden` are [rows, size].
    """
    rows, size = cell.shape
    for row in range(rows):
        given = inputs[words[row]]
        for unit in range(size):
            i = clipped(gates[row, unit] + given[unit])
            f = clipped(gates[row, size + unit] + given[size + unit])
            o = clipped(gates[row, 2 * size + unit] + given[2 * size + unit])
            v = clipped(gates[row, 3 * size + unit] + given[3 * size + unit])
            ii, ff, oo, vv = i * i, f * f, o * o, v * v
            i_below, f_below, o_below, v_below = below(ii), below(ff), below(oo), below(vv)
            both = i_below * v_below
            kept = cell[row, unit] * (f_below + above(f, ff)) * both
            added = above(v, vv) * (i_below + above(i, ii)) * f_below
            after = HALF * (kept + added) / (f_below * both)
            cell[row, unit] = after
            c = clipped(after)
            cc = c * c
            hidden[row, unit] = above(c, cc) * (o_below + above(o, oo)) / (below(cc) * o_below)
