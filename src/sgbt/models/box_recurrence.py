"""Boxes through LSTMs: the hidden states of many texts, from the boxes of the sets of words that they read.

In float32 on a processor, and where Numba is installed, steps are compiled and texts leave once they are read
(`sgbt.models.box_steps`). Elsewhere, and where gradients of gradients are asked for, the plain way goes
(`sgbt.bounds.ibp.through_lstm`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.bounds.ibp import Pair, through_lstm
from sgbt.core.shapes import Float, Int
from sgbt.models.compiled_loops import compiled_for, plain_gradients


def states_of_sets(
    low: Float[Tensor, "directions sets gates"],
    high: Float[Tensor, "directions sets gates"],
    recurrent: Float[Tensor, "directions gates hidden"],
    places: Int[Tensor, "directions texts words"],
    lengths: Int[Tensor, " texts"],
) -> Pair:
    """The boxes of the hidden states of LSTMs, [words, directions, texts, hidden] twice, whatever behind a text's end.

    `low` and `high` are the boxes of what each set of words adds to the gates, biases included; `places` says which set
    stands where. Texts are sorted, the longest first.
    """
    compiled = low.dtype == torch.float32 and compiled_for(low, high, recurrent)
    way: Callable[..., Pair] = _BoxRecurrence.apply if compiled else _plain
    return way(low, high, recurrent, places, lengths)


def _plain(low: Tensor, high: Tensor, recurrent: Tensor, places: Tensor, lengths: Tensor) -> Pair:
    below, above = (
        torch.stack([F.embedding(place.T, part) for place, part in zip(places, end, strict=True)], dim=1)
        for end in (low, high)
    )
    return through_lstm((below, above), recurrent)


class _BoxRecurrence(torch.autograd.Function):
    """Kept of every step are its gates and cells, and the states as it found them: their middle, half their width."""

    @staticmethod
    def forward(ctx: Any, low: Tensor, high: Tensor, recurrent: Tensor, places: Tensor, lengths: Tensor) -> Pair:
        from sgbt.models.box_steps import ahead

        (ways, texts, words), (_, width, size) = places.shape, recurrent.shape
        reading = (lengths > torch.arange(words).unsqueeze(1)).sum(dim=1).tolist()
        hidden, given = low.new_zeros(ways, 2, words, texts, size), low.new_empty(2, texts, width)
        ctx.kept = []
        for way in range(ways):
            gates, cells = low.new_empty(words, 2, texts, width), low.new_empty(words + 1, 2, texts, size)
            moved, weights = torch.empty_like(cells), (recurrent[way].T, recurrent[way].T.abs())
            cells[0], moved[0] = 0, 0
            standing = places[way].T.contiguous()
            kept = low[way], high[way], standing, given, gates, cells, moved, hidden[way]
            arrays = [each.contiguous().numpy() for each in kept]
            for word, rows in enumerate(reading):
                for states, weight, out in zip(moved[word], weights, given, strict=True):
                    torch.mm(states[:rows], weight, out=out[:rows])
                ahead(word, rows, *arrays)
            ctx.kept.append((standing, gates, cells, moved))
        ctx.save_for_backward(low, high, recurrent)
        ctx.reading, ctx.options = reading, (places, lengths)
        return hidden[:, 0].transpose(0, 1), hidden[:, 1].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tensors = low, high, recurrent = ctx.saved_tensors
        if torch.is_grad_enabled():  # for gradients of gradients
            return (*plain_gradients(_plain, tensors, ctx.needs_input_grad[:3], ctx.options, gradients), None, None)
        from sgbt.models.box_steps import back

        wrt_low, wrt_high, wrt_recurrent = torch.zeros_like(low), torch.zeros_like(high), torch.zeros_like(recurrent)
        for way, (standing, gates, cells, moved) in enumerate(ctx.kept):
            _, _, texts, width = gates.shape
            wrt_given, weights = low.new_empty(2, texts, width), (recurrent[way], recurrent[way].abs())
            wrt_moved, wrt_cells = (low.new_zeros(2, texts, cells.shape[3]) for _ in range(2))
            wrt_weights = wrt_recurrent[way], torch.zeros_like(recurrent[way])
            asked = (gradient[:, way].contiguous() for gradient in gradients)
            kept = *asked, standing, gates, cells, wrt_moved, wrt_cells, wrt_low[way], wrt_high[way], wrt_given
            arrays = [each.numpy() for each in kept]
            for word in reversed(range(len(ctx.reading))):
                rows = ctx.reading[word]
                back(word, rows, *arrays)
                for part, states, weight, to_states, to_weight in zip(
                    wrt_given, moved[word], weights, wrt_moved, wrt_weights, strict=True
                ):
                    torch.mm(part[:rows], weight, out=to_states[:rows])
                    to_weight.addmm_(part[:rows].T, states[:rows])
            wrt_weights[0].add_(recurrent[way].sign() * wrt_weights[1])
        return wrt_low, wrt_high, wrt_recurrent, None, None
