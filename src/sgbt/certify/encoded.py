"""The exact worst case of a network that reads codes: every reading that a text can have is tried.

Words that share a code are one word to such a network. Where codes are communities of substitutes, few words of a text
can change their code at all, and all the ways in which they can are often few enough to be looked at one by one. That
is exact, for any network, with any pooling.
"""

from __future__ import annotations

import itertools
import math
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from sgbt.bounds.ibp import worst_logits
from sgbt.certify.bilstm.boxes import enclosed_states
from sgbt.certify.specification import Specification
from sgbt.models import BiLSTM, TextCNN

MOST_READINGS = 2048
"""A text that can be read in more ways is left undecided."""
WORDS_AT_ONCE = 1 << 16


def encoded_margins(model: TextCNN | BiLSTM, spec: Specification, *, most: int = MOST_READINGS) -> Tensor:
    """The exact least margins [texts, rivals] within the budget; minus infinity where nothing was tried.

    `model` is in float64 and reads codes. Substitutes drawn towards their word (a scale below one) have no code.
    """
    labels, rivals = spec.labels, spec.rivals
    least = model.head.weight.new_full(rivals.shape, -torch.inf)
    if spec.scale != 1.0:
        return least
    codes = model.embedding.encode(spec.ids)
    for text in range(len(spec)):
        length = int(spec.lengths[text])
        readings = _readings(codes[text, :length], spec.allowed[text, :length], spec.budget, most)
        if readings is None:
            continue
        margins = []
        for part in torch.split(readings, max(WORDS_AT_ONCE // max(length, 1), 1)):
            margins.append(_margins(model, part, labels[text], rivals[text]).amin(dim=0))
        least[text] = torch.stack(margins).amin(dim=0)
    return least


@singledispatch
def _margins(model: Any, codes: Tensor, label: Tensor, rivals: Tensor) -> Tensor:
    """The margins of readings [readings, words], each with its own rounding taken off where that can grow."""
    logits = model.from_vectors(model.embedding(codes), torch.ones_like(codes, dtype=torch.bool))
    margins: Tensor = logits[:, label, None] - logits[:, rivals]
    return margins


@_margins.register
def _of_bilstm(model: BiLSTM, codes: Tensor, label: Tensor, rivals: Tensor) -> Tensor:
    if not codes.shape[1]:  # no step is taken, so nothing grows
        return _margins.dispatch(object)(model, codes, label, rivals)
    lengths = codes.new_full((len(codes),), codes.shape[1])
    states = enclosed_states(model, model.embedding(codes))
    low, high = (model.pool([end[:, 0], end[:, 1]], lengths) for end in states)
    labels = label.repeat(len(codes))
    return -worst_logits((low, high), model.head.weight, model.head.bias, labels)[:, rivals]


def _readings(codes: Tensor, allowed: Tensor, budget: int | None, most: int) -> Tensor | None:
    """All sequences of codes that one text can become, itself first, [readings, words]; None if they are too many."""
    own = codes[:, 0]
    changing = ((codes != own.unsqueeze(1)) & allowed).any(dim=1).nonzero().squeeze(1).tolist()
    options = []
    for place in changing:
        first = int(own[place])
        options.append([first, *sorted({*codes[place][allowed[place]].tolist()} - {first})])
    if math.prod(map(len, options)) > most:
        return None
    chosen = list(itertools.product(*options))
    if budget is not None:
        firsts = [option[0] for option in options]
        chosen = [
            taken for taken in chosen if sum(code != first for code, first in zip(taken, firsts, strict=True)) <= budget
        ]
    readings = own.repeat(len(chosen), 1)
    if changing:
        readings[:, changing] = torch.tensor(chosen, dtype=own.dtype, device=own.device)
    return readings
