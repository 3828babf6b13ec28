"""Max pooling over the windows of a text, of words and of boxes around sets of words, by filters that are affine in
each word.

Only the winning window of each text and filter counts. Where Numba is installed, texts are read on the processor
without writing out what the filters make of every window, and the way back touches the words of the winners alone
(`sgbt.models.winning_windows`). Elsewhere, and where gradients of gradients are asked for, the plain way goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.bounds.ibp import Pair, extremes_over_choices, through_windows
from sgbt.core.shapes import Float, Int
from sgbt.models.compiled_loops import compiled_for, plain_gradients
from sgbt.models.set_extremes import MOST_CHOICES, holders
from sgbt.models.word_sets import WordSets

Weight = Float[Tensor, "filters width size"]
Counts = Int[Tensor, " texts"]
LEAST, GREATEST, ITSELF = 0, 1, 2
"""What of a box: its lower end, its upper end, or its first word."""


def greatest_window(
    vectors: Float[Tensor, "distinct width"], weight: Weight, places: Int[Tensor, "texts words"], counts: Counts
) -> Float[Tensor, "texts filters"]:
    """The greatest of sum_l W_l v_{t+l} over the first `counts` windows of each text, biases left out.

    `places` [texts, words] says which of the vectors stands where.
    """
    own = torch.arange(len(vectors), device=vectors.device).unsqueeze(1)
    alone = WordSets(own[:, 0], own, torch.ones_like(own, dtype=torch.bool), places)
    return greatest_windows_of_sets(vectors, weight, alone, counts, (ITSELF,), epsilon=1.0)[0]


def greatest_windows_of_sets(
    vectors: Float[Tensor, "distinct width"],
    weight: Weight,
    sets: WordSets,
    counts: Counts,
    ends: tuple[int, ...],
    *,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """The same of boxes around sets of words, drawn towards each set's first word by `epsilon`: of their lower ends
    (`LEAST`), of their upper ones (`GREATEST`), and of the first words alone (`ITSELF`)."""
    compiled = sets.choices.shape[1] <= MOST_CHOICES and compiled_for(vectors, weight)
    way = _PooledWindows.apply if compiled else _plain
    found: tuple[Tensor, ...] = way(vectors, weight, sets, counts, epsilon, ends)
    return found


def gradient_at_places(
    vectors: Float[Tensor, "distinct width"], weight: Weight, places: Int[Tensor, "texts words"], counts: Counts
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """`greatest_window` where loops are compiled, and its way back: from a gradient [texts, filters] to what is asked
    of the vector at each place, [texts, words, width]."""
    from sgbt.models.winning_windows import spread_over_places, winners

    filters, width, size = weight.shape
    flat = weight.permute(2, 0, 1).contiguous()
    table = F.linear(vectors, flat.flatten(0, 1)).view(-1, size, filters).numpy()
    greatest, windows = vectors.new_empty(len(places), filters), np.empty((len(places), filters), np.int32)
    winners(table, places.numpy(), counts.numpy(), greatest.numpy(), windows)

    def back(gradient: Tensor) -> Tensor:
        asked = vectors.new_zeros(*places.shape, width)
        given = gradient.contiguous().numpy(), windows, table, places.numpy(), counts.numpy()
        spread_over_places(*given, flat.numpy(), asked.numpy())
        return asked

    return greatest, back


def windows_in(lengths: Tensor, size: int) -> Tensor:
    """How many windows of so many words a text has: one at least."""
    return (lengths - size + 1).clamp(min=1)


def windows_of_words(vectors: Tensor, weight: Weight, places: Tensor, bias: Tensor | None = None) -> Tensor:
    """What the filters make of each window, [texts, windows, filters]."""
    windows = places.shape[1] - weight.shape[2] + 1
    total: Any = 0 if bias is None else bias
    for offset in range(weight.shape[2]):
        projected = F.linear(vectors, weight[:, :, offset])
        total = total + F.embedding(places[:, offset : offset + windows], projected)
    found: Tensor = total
    return found


def windows_of_sets(vectors: Tensor, weight: Weight, sets: WordSets, bias: Tensor | None, epsilon: float) -> Pair:
    """The box of what the filters make of each window, [texts, windows, filters] twice."""
    ends = [
        extremes_over_choices(F.linear(vectors, weight[:, :, offset]), sets.choices, sets.allowed, epsilon=epsilon)
        for offset in range(weight.shape[2])
    ]
    bias = weight.new_zeros(len(weight)) if bias is None else bias
    return through_windows([low for low, _ in ends], [high for _, high in ends], bias, sets.places)


def _greatest(windows: Tensor, counts: Tensor) -> Tensor:
    real = torch.arange(windows.shape[1], device=windows.device) < counts.unsqueeze(1)
    return windows.masked_fill(~real.unsqueeze(-1), -torch.inf).amax(dim=1)


def _plain(
    vectors: Tensor, weight: Tensor, sets: WordSets, counts: Tensor, epsilon: float, ends: tuple[int, ...]
) -> tuple[Tensor, ...]:
    found = {}
    if ITSELF in ends:
        found[ITSELF] = windows_of_words(vectors, weight, sets.choices[:, 0][sets.places])
    if ends != (ITSELF,):
        found[LEAST], found[GREATEST] = windows_of_sets(vectors, weight, sets, None, epsilon)
    return tuple(_greatest(found[end], counts) for end in ends)


class _PooledWindows(torch.autograd.Function):
    """One output [texts, filters] for each of the `ends` of the sets."""

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, weight: Tensor, sets: WordSets, counts: Tensor, epsilon: float, ends: tuple[int, ...]
    ) -> tuple[Tensor, ...]:
        from sgbt.models.winning_windows import extremes, winners

        filters, _, size = weight.shape
        flat = weight.permute(2, 0, 1).contiguous()
        starts, members = sets.members()
        shape = len(sets.choices), size, filters
        who = np.empty((3, 0, size, filters), np.int32)
        if ends == (ITSELF,):  # each set is a word
            tables = F.linear(vectors, flat.flatten(0, 1)).view(1, *shape).expand(3, *shape).numpy()
        else:
            tables, values = vectors.new_empty(3, *shape).numpy(), vectors.new_empty(len(vectors), filters)
            who = holders(shape, sets)
            for offset in range(size):
                torch.mm(vectors, flat[offset].T, out=values)
                extremes(values.numpy(), starts, members, epsilon, offset, tables, who)
        outputs, found = [], []
        for end in ends:
            greatest = vectors.new_empty(len(sets.places), filters)
            windows = np.empty(greatest.shape, np.int32)
            winners(tables[end], sets.places.numpy(), counts.numpy(), greatest.numpy(), windows)
            outputs.append(greatest)
            found.append(
                (windows, tables[end], who[end] if end < len(who) else who[0, :0], epsilon if end != ITSELF else 1.0)
            )
        ctx.save_for_backward(vectors, weight)
        ctx.asked = sets, counts, epsilon, ends
        ctx.found = flat, starts, members, found
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, weight = ctx.saved_tensors
        nothing = (None,) * 4
        needed = ctx.needs_input_grad[:2]
        if torch.is_grad_enabled():  # for gradients of gradients
            return (*plain_gradients(_plain, (vectors, weight), needed, ctx.asked, gradients), *nothing)
        from sgbt.models.winning_windows import spread

        sets, counts, *_ = ctx.asked
        flat, starts, members, found = ctx.found
        wrt_vectors = torch.zeros_like(vectors if needed[0] else vectors[:0])
        wrt_weight = torch.zeros_like(flat)
        arrays = [each.detach().contiguous().numpy() for each in (vectors, flat, wrt_vectors, wrt_weight)]
        for gradient, (windows, table, who, epsilon) in zip(gradients, found, strict=True):
            given = gradient.contiguous().numpy(), windows, table, sets.places.numpy(), counts.numpy()
            spread(*given, starts, members, who, epsilon, *arrays)
        return (wrt_vectors if needed[0] else None, wrt_weight.permute(1, 2, 0) if needed[1] else None, *nothing)
