"""What the windows of a TextCNN can become: the exact range of every pre-activation over all substitutions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.bounds.ibp import extremes_over_choices
from sgbt.certify.lines import Box
from sgbt.certify.question import Question
from sgbt.models import TextCNN
from sgbt.models.worst_case import WordSets


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one width: `box` [texts, windows, filters], and `real` [texts, windows, 1] tells which exist.

    A window's pre-activation is affine in its words, so its box is exact. `moves[l]` [swaps, filters] is what each swap
    adds to the window in which it stands at offset l.
    """

    box: Box
    real: Tensor
    moves: tuple[Tensor, ...]

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
        total = coefficients.new_zeros(len(swaps), coefficients.shape[1])
        wide = F.pad(coefficients, (0, 0, size - 1, size - 1))
        loose = None if radii is None else F.pad(radii, (0, 0, size - 1, size - 1))
        for offset, move in enumerate(self.moves):
            spot = (swaps.text, slice(None), swaps.place - offset + size - 1)
            total += torch.einsum("srf,sf->sr", wide[spot], move)
            if loose is not None:
                total -= torch.einsum("srf,sf->sr", loose[spot], move.abs())
        return total


def window_boxes(model: TextCNN, question: Question) -> list[Windows]:
    """The windows of every width of `model`, which must be in float64."""
    ids, allowed, widest = question.ids, question.allowed, max(model.config.kernel_sizes)
    missing = max(widest - ids.shape[1], 0)
    codes = model.embedding.encode(F.pad(ids, (0, 0, 0, missing)))
    allowed = torch.cat([allowed, _only_first(allowed, missing)], dim=1)
    sets = WordSets.of(codes, allowed)
    vectors = model.embedding(sets.words)
    chosen = sets.places[question.swaps.text, question.swaps.place]
    original, swapped = sets.choices[chosen, 0], sets.choices[chosen, question.swaps.slot]
    return [
        _windows_of(layer, vectors, sets, original, swapped, question)
        for layer in model.convolutions
        if isinstance(layer, nn.Conv1d)
    ]


def _only_first(allowed: Tensor, length: int) -> Tensor:
    extra = torch.zeros_like(allowed[:, :1]).expand(-1, length, -1).clone()
    extra[..., 0] = True
    return extra


def _windows_of(
    layer: nn.Conv1d, vectors: Tensor, sets: WordSets, original: Tensor, swapped: Tensor, question: Question
) -> Windows:
    size, bias = layer.kernel_size[0], layer.bias
    assert bias is not None
    windows = sets.places.shape[1] - size + 1
    clean, falls, rises, moves = bias, [], [], []
    for offset in range(size):
        projected = F.linear(vectors, layer.weight[:, :, offset])
        own = projected[sets.choices[:, 0]]
        low, high = extremes_over_choices(projected, sets.choices, sets.allowed)
        span = sets.places[:, offset : offset + windows]
        clean = clean + F.embedding(span, own)
        falls.append(F.embedding(span, low - own))
        rises.append(F.embedding(span, high - own))
        moves.append(projected[swapped] - projected[original])
    counts = (question.lengths - size + 1).clamp(min=1).unsqueeze(1)
    real = torch.arange(windows, device=counts.device) < counts
    box = Box.around(
        clean, clean + _worst(falls, question.budget), clean - _worst([-r for r in rises], question.budget)
    )
    return Windows(box, real.unsqueeze(-1), tuple(moves))


def _worst(falls: list[Tensor], budget: int | None) -> Tensor:
    """The least sum of falls, none positive, of the words of a window: of all, or of as many as may be replaced."""
    if budget is None or budget >= len(falls):
        return torch.stack(falls).sum(dim=0) if len(falls) > 1 else falls[0]
    return torch.stack(falls).sort(dim=0).values[:budget].sum(dim=0)
