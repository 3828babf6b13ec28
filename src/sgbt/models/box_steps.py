"""One step of boxes through an LSTM, forwards and back, compiled by Numba: import it only where that is installed.

Gates stand in torch's order: input, forget, cell, output. A gate g between 0 and 1 scales a box [x, y] to
[x times the lower or upper end of g, as x is positive or negative, ...] (`sgbt.bounds.ibp.scaled_by_gate`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.models.rational_tanh import HALF, compiled_inline, compiled_loop, sigmoid, tanh

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


@compiled_loop
def ahead(
    word: int,
    rows: int,
    entering_low: Floats,
    entering_high: Floats,
    places: Places,
    given: Floats,
    gates: Floats,
    cells: Floats,
    moved: Floats,
    hidden: Floats,
) -> None:
    """Read word number `word` with the first `rows` states.

    `entering_low` and `entering_high` [sets, 4 size] are boxes of what words add to the gates, `places` [words, texts]
    says which set stands where, and `given` [2, texts, 4 size] is the middle and half the width of what states add.
    What comes of it goes into `gates` [words, 2, texts, 4 size], `cells` [words + 1, 2, texts, size], of which place
    `word` has what was before, `hidden` [2, words, texts, size], and its middle and half its width into `moved`.
    """
    size = cells.shape[3]
    for row in range(rows):
        place = places[word, row]
        given_low, given_high = entering_low[place], entering_high[place]
        middle, wide = given[0, row], given[1, row]
        low, high = gates[word, 0, row], gates[word, 1, row]
        for one in range(4 * size):
            low[one] = given_low[one] + (middle[one] - wide[one])
            high[one] = given_high[one] + (middle[one] + wide[one])
        for one in range(2 * size):
            low[one] = sigmoid(low[one])
            high[one] = sigmoid(high[one])
        for one in range(2 * size, 3 * size):
            low[one] = tanh(low[one])
            high[one] = tanh(high[one])
        for one in range(3 * size, 4 * size):
            low[one] = sigmoid(low[one])
            high[one] = sigmoid(high[one])
        old_low, old_high = cells[word, 0, row], cells[word, 1, row]
        cell_low, cell_high = cells[word + 1, 0, row], cells[word + 1, 1, row]
        for one in range(size):
            x, y = low[2 * size + one], high[2 * size + one]
            u, v = old_low[one], old_high[one]
            x *= low[one] if x >= 0 else high[one]
            y *= high[one] if y >= 0 else low[one]
            u *= low[size + one] if u >= 0 else high[size + one]
            v *= high[size + one] if v >= 0 else low[size + one]
            cell_low[one] = u + x
            cell_high[one] = v + y
        state_low, state_high = hidden[0, word, row], hidden[1, word, row]
        mid, half = moved[word + 1, 0, row], moved[word + 1, 1, row]
        for one in range(size):
            x, y = tanh(cell_low[one]), tanh(cell_high[one])
            x *= low[3 * size + one] if x >= 0 else high[3 * size + one]
            y *= high[3 * size + one] if y >= 0 else low[3 * size + one]
            state_low[one] = x
            state_high[one] = y
            mid[one] = HALF * (x + y)
            half[one] = HALF * (y - x)


@compiled_inline
def _scaled_back(below: Any, above: Any, x: Any, y: Any, asked: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """What is asked of a box [x, y] and of the arguments of its gate, a sigmoid [below, above], from what is `asked` of
    the box that the gate scales."""
    nothing, whole = np.float32(0), np.float32(1)
    dx = asked[0] * (below if x >= 0 else above)
    dy = asked[1] * (above if y >= 0 else below)
    first, second = asked[0] * x, asked[1] * y
    wrt_below = (first if x >= 0 else nothing) + (nothing if y >= 0 else second)
    wrt_above = (nothing if x >= 0 else first) + (second if y >= 0 else nothing)
    return dx, dy, wrt_below * below * (whole - below), wrt_above * above * (whole - above)


@compiled_loop
def back(
    word: int,
    rows: int,
    wrt_lower: Floats,
    wrt_upper: Floats,
    places: Places,
    gates: Floats,
    cells: Floats,
    wrt_moved: Floats,
    wrt_cells: Floats,
    wrt_low: Floats,
    wrt_high: Floats,
    wrt_given: Floats,
) -> None:
    """The way back of `ahead`.

    `wrt_lower` and `wrt_upper` [words, texts, size] are what is asked of the hidden states, `wrt_moved` [2, texts,
    size] what the next step asks of their middle and half their width, and `wrt_cells` what it asks of the cells, and
    then what is asked of those before. What is asked of words is added to `wrt_low` and `wrt_high` [sets, 4 size];
    what is asked of the states' part goes to `wrt_given`.
    """
    size = cells.shape[3]
    low_out, high_out = np.empty(4 * size, np.float32), np.empty(4 * size, np.float32)
    whole = np.float32(1)
    for row in range(rows):
        low, high = gates[word, 0, row], gates[word, 1, row]
        old_low, old_high = cells[word, 0, row], cells[word, 1, row]
        cell_low, cell_high = cells[word + 1, 0, row], cells[word + 1, 1, row]
        out_low, out_high = wrt_lower[word, row], wrt_upper[word, row]
        mid, half = wrt_moved[0, row], wrt_moved[1, row]
        left_low, left_high = wrt_cells[0, row], wrt_cells[1, row]
        for one in range(size):
            x, y = tanh(cell_low[one]), tanh(cell_high[one])
            below, above = low[3 * size + one], high[3 * size + one]
            asked = out_low[one] + HALF * (mid[one] - half[one]), out_high[one] + HALF * (mid[one] + half[one])
            dx, dy, low_out[3 * size + one], high_out[3 * size + one] = _scaled_back(below, above, x, y, asked)
            left_low[one] += dx * (whole - x * x)
            left_high[one] += dy * (whole - y * y)
        for one in range(size):
            x, y = low[2 * size + one], high[2 * size + one]
            asked = left_low[one], left_high[one]
            dx, dy, low_out[one], high_out[one] = _scaled_back(low[one], high[one], x, y, asked)
            low_out[2 * size + one] = dx * (whole - x * x)
            high_out[2 * size + one] = dy * (whole - y * y)
        for one in range(size):
            below, above, asked = low[size + one], high[size + one], (left_low[one], left_high[one])
            left_low[one], left_high[one], low_out[size + one], high_out[size + one] = _scaled_back(
                below, above, old_low[one], old_high[one], asked
            )
        to_low, to_high = wrt_low[places[word, row]], wrt_high[places[word, row]]
        to_middle, to_radius = wrt_given[0, row], wrt_given[1, row]
        for one in range(4 * size):
            x, y = low_out[one], high_out[one]
            to_low[one] += x
            to_high[one] += y
            to_middle[one] = x + y
            to_radius[one] = y - x
