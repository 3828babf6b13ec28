"""The exact worst case of a mean-pooled TextCNN, by dynamic programming along the text.

With mean pooling a margin is a sum over windows, and a window sees only its own words: margin = bias + sum_p s_p, where
s_p depends on words p - K + 1 to p, K the widest window. Such a chain is minimised exactly: the least value of all up
to word p, given the choice of the last K - 1 words, follows from the same for word p - 1. The work is the number of
choices that a window has, so windows of 3 or 4 words with a few substitutes each are cheap; a text in which some window
has more than `most` choices is left undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.certify.cnn.windows import WindowBoxes
from sgbt.certify.specification import Specification
from sgbt.core.shapes import Float
from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS

MOST_CHOICES = 1 << 13


def chain_margins(
    model: TextCNN, windows: Sequence[WindowBoxes], *, most: int = MOST_CHOICES
) -> Float[Tensor, "texts rivals"]:
    """The exact least margins [texts, rivals] within the budget; minus infinity where a window has too many.

    `model` is in float64 and pools by the mean; `windows` are those of its widths.
    """
    assert model.config.pooling == "mean"
    spec = windows[0].spec
    weight, bias = spec.against_rivals(model.head.weight, model.head.bias)
    found = [bias[text] + _least(model, windows, text, weight[text], most) for text in range(len(spec))]
    return torch.stack(found) if found else bias


def _least(model: TextCNN, windows: Sequence[WindowBoxes], text: int, head: Tensor, most: int) -> Tensor:
    """The least sum of window scores of one text, [rivals]."""
    spec = windows[0].spec
    length = int(spec.lengths[text])
    widest = max(model.config.kernel_sizes)
    slots = [_slots(spec, text, place) for place in range(length)]
    slots += [spec.ids.new_zeros(1)] * max(widest - length, 0)  # the zeros that fill up a short text
    counts = [len(slot) for slot in slots]
    spans = (counts[end - widest + 1 : end + 1] for end in range(widest - 1, len(counts)))
    if any(math.prod(span) > most for span in spans):
        return head.new_full((head.shape[0],), -torch.inf)
    scores = _window_scores(model, windows, text, slots, max(length, 1), head)
    levels = 1 if spec.budget is None else min(spec.budget, sum(count > 1 for count in counts)) + 1
    best = head.new_zeros((levels,) + (1,) * (widest - 1) + (head.shape[0],))
    for place, count in enumerate(counts):
        # axes: replaced so far, choices of the last `widest` words, rivals
        longer = best.unsqueeze(-2).expand(*best.shape[:-1], count, best.shape[-1])
        if spec.budget is not None and count > 1:  # any choice but the word itself is one more replacement
            fewer = F.pad(longer[:-1].flatten(1), (0, 0, 1, 0), value=torch.inf).view_as(longer)
            longer = torch.cat([longer[..., :1, :], fewer[..., 1:, :]], dim=-2)
        longer = longer + scores[place]
        best = longer.amin(dim=1)
    return best.flatten(0, -2).amin(dim=0)


def _slots(spec: Specification, text: int, place: int) -> Tensor:
    return spec.allowed[text, place].nonzero().squeeze(1)


def _window_scores(
    model: TextCNN, windows: Sequence[WindowBoxes], text: int, slots: list[Tensor], length: int, head: Tensor
) -> list[Tensor]:
    """For each word, what the windows that end there add to the margins, over the choices of their words.

    Score p broadcasts against [choices of the last `widest` words, rivals]: a narrower window has leading axes of 1.
    """
    function, scale = ACTIVATIONS[model.config.activation].function, windows[0].spec.scale
    totals: list[Tensor] = [head.new_zeros(())] * len(slots)
    for part, own in zip(windows, head.chunk(len(windows), dim=1), strict=True):
        count = max(length - part.size + 1, 1)
        images = []
        for place, slot in enumerate(slots):
            image = part.images.values[part.words.entries[text, place, slot]]
            image = image if scale == 1.0 else image[:1] + scale * (image - image[:1])
            images.append(image.view(-1, part.size, part.filters))
        for first in range(count):
            z = part.bias
            for offset in range(part.size):
                z = z.unsqueeze(-2) + images[first + offset][:, offset]  # one more axis for one more word
            last = first + part.size - 1
            totals[last] = totals[last] + function(z) @ own.T / count
    return totals
