"""What the windows of a TextCNN can become: the exact range of every pre-activation over all substitutions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.bounds.ibp import extremes_over_choices
from sgbt.certify.lines import Box
from sgbt.certify.question import Question
from sgbt.certify.word_tables import WordTables
from sgbt.models import TextCNN
from sgbt.models.worst_case import WordSets


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one width: `box` [texts, windows, filters], and `real` [texts, windows, 1] tells which exist.

    A window's pre-activation is affine in its words, so its box is exact. `projected[l]` [words, filters] is what each
    word adds at offset l. Replaceable word i is `original[i]`, and its slots hold the words `swapped[i]` [slots], the
    word itself where a slot is not taken.
    """

    box: Box
    real: Tensor
    projected: tuple[Tensor, ...]
    original: Tensor
    swapped: Tensor
    scale: float

    @cached_property
    def moves(self) -> tuple[Tensor, ...]:
        """What each slot adds to the window whose word l it replaces: [words, slots, filters] for each l."""
        found = []
        for words in self.projected:
            moved = words.index_select(0, self.swapped.flatten()).view(*self.swapped.shape, words.shape[1])
            moved -= words.index_select(0, self.original).unsqueeze(1)
            found.append(moved if self.scale == 1.0 else moved.mul_(self.scale))
        return tuple(found)

    @property
    def counts(self) -> Tensor:
        """The number of windows of each text, [texts, 1]."""
        return self.real.sum(dim=1)

    def gains(self, question: Question, coefficients: Tensor, radii: Tensor | None = None) -> Tensor:
        """What each swap adds to sum_{t,f} coefficients z_{t,f}, [swaps, rivals], at least.

        `coefficients` is [texts, rivals, windows, filters]. With `radii`, the coefficients are only known to lie within
        that distance of it, and the least value over them is taken.
        """
        swaps, size = question.swaps, len(self.moves)
        _, rivals, windows, filters = coefficients.shape
        total = coefficients.new_zeros(*swaps.taken.shape, rivals)
        rows, loose = _by_window(coefficients, size - 1), None if radii is None else _by_window(radii, size - 1)
        first = swaps.spots[:, 0] * (windows + 2 * (size - 1)) + swaps.spots[:, 1] + size - 1
        for offset, move in enumerate(self.moves):
            near = rows.index_select(0, first - offset).view(-1, rivals, filters)
            total.baddbmm_(move, near.transpose(1, 2))
            if loose is not None:
                near = loose.index_select(0, first - offset).view(-1, rivals, filters)
                total.baddbmm_(move.abs(), near.transpose(1, 2), alpha=-1)
        return total[swaps.taken]


def _by_window(coefficients: Tensor, margin: int) -> Tensor:
    """One row per window with all rivals and filters, and `margin` rows of zeros around each text."""
    return F.pad(coefficients.transpose(1, 2), (0, 0, 0, 0, margin, margin)).flatten(0, 1).flatten(1)


def window_boxes(model: TextCNN, question: Question, tables: WordTables) -> list[Windows]:
    """The windows of every width of `model`, which must be in float64."""
    ids, allowed, widest = question.ids, question.allowed, max(model.config.kernel_sizes)
    missing = max(widest - ids.shape[1], 0)
    codes = model.embedding.encode(F.pad(ids, (0, 0, 0, missing)))
    allowed = torch.cat([allowed, _only_first(allowed, missing)], dim=1)
    sets = WordSets.of(codes, allowed)
    spots, taken = question.swaps.spots, question.swaps.taken
    chosen = sets.choices[sets.places[spots[:, 0], spots[:, 1]]]
    original = chosen[:, 0]
    swapped = torch.where(taken, chosen[:, 1:], original.unsqueeze(1))
    found = []
    for number, layer in enumerate(model.convolutions):
        assert isinstance(layer, nn.Conv1d)
        projected = tuple(
            tables.project(model, f"{number}.{offset}", layer.weight[:, :, offset], None, sets.words)
            for offset in range(layer.kernel_size[0])
        )
        assert layer.bias is not None
        box, real = _box_of(layer.bias, projected, sets, question)
        found.append(Windows(box, real, projected, original, swapped, question.scale))
    return found


def _only_first(allowed: Tensor, length: int) -> Tensor:
    extra = torch.zeros_like(allowed[:, :1]).expand(-1, length, -1).clone()
    extra[..., 0] = True
    return extra


def _box_of(bias: Tensor, projected: tuple[Tensor, ...], sets: WordSets, question: Question) -> tuple[Box, Tensor]:
    """The box of the windows of one width, and which of them are real."""
    size = len(projected)
    windows = sets.places.shape[1] - size + 1
    clean, falls, rises = bias, [], []
    for offset, words in enumerate(projected):
        own = words.index_select(0, sets.choices[:, 0])
        low, high = extremes_over_choices(words, sets.choices, sets.allowed, epsilon=question.scale)
        span = sets.places[:, offset : offset + windows]
        clean = clean + F.embedding(span, own)
        falls.append(F.embedding(span, low - own))
        rises.append(F.embedding(span, own - high))
    counts = (question.lengths - size + 1).clamp(min=1).unsqueeze(1)
    real = (torch.arange(windows, device=counts.device) < counts).unsqueeze(-1)
    return Box.around(clean, clean + _worst(falls, question.budget), clean - _worst(rises, question.budget)), real


def _worst(falls: list[Tensor], budget: int | None) -> Tensor:
    """The least sum of falls, none positive, of the words of a window: of all, or of as many as may be replaced."""
    if budget is None or budget >= len(falls):
        return reduce(torch.add, falls)
    return torch.stack(falls).sort(dim=0).values[:budget].sum(dim=0)
