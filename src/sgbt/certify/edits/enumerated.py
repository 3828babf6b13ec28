"""The least margins of networks by looking at every text that a lattice allows, where there are few."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgbt.certify.bilstm.boxes import enclosed_states
from sgbt.certify.edits.margins import Floats, rivals_of
from sgbt.certify.edits.unrolled import UnrolledLayer
from sgbt.models import BiLSTM, TextCNN
from sgbt.threats.lattice import ChoiceSets

FEW = 1000
"""A text with at most so many versions is enumerated where its bound proves nothing."""
AT_ONCE = 256

Texts = set[tuple[int, ...]]


def exact_where_few(model: Any, steps: Sequence[UnrolledLayer], sets: ChoiceSets, label: int, bound: Floats) -> Floats:
    """The bound of a text's margins, or the least margins themselves where it proves nothing and versions are few."""
    if bound.min() > 0 or (texts := few_texts(steps, sets, FEW)) is None:
        return bound
    rivals = rivals_of(np.array([label]), model.config.classes)[0]
    least = []
    for _, group in groupby(sorted(texts, key=len), key=len):
        own = list(group)
        for begin in range(0, len(own), AT_ONCE):
            ids = torch.tensor(own[begin : begin + AT_ONCE], dtype=torch.int64)
            least.append(lowest_margins(model, ids, label, rivals).amin(dim=0))
    found: Floats = np.maximum(bound, torch.stack(least).amin(dim=0).numpy())
    return found


def few_texts(steps: Sequence[UnrolledLayer], sets: ChoiceSets, most: int) -> Texts | None:
    """The ids of every text, as a model reads it; None where there are more than `most` paths."""
    counts: Floats = np.ones(steps[0].arrivals)
    total = 0.0
    for words, step in enumerate(steps):
        here = np.bincount(step.spread[1], counts[step.spread[0]], step.departures)
        total += here[step.ends].sum()
        if total > most or not len(step.source):
            break
        many = np.array([len(sets[number]) for number in step.choices.tolist()])
        counts = np.bincount(step.target, here[step.source] * many, steps[words + 1].arrivals).astype(np.float64)
    return None if total > most else _texts(steps, sets)


def _texts(steps: Sequence[UnrolledLayer], sets: ChoiceSets) -> Texts:
    found: Texts = set()
    arrived: list[Texts] = [{()} for _ in range(steps[0].arrivals)]
    for words, step in enumerate(steps):
        here: list[Texts] = [set() for _ in range(step.departures)]
        for begin, end in zip(*(side.tolist() for side in step.spread), strict=True):
            here[end] |= arrived[begin]
        found = found.union(*(here[place] for place in step.ends.tolist()))
        if not len(step.source):
            break
        arrived = [set() for _ in range(steps[words + 1].arrivals)]
        edges = zip(step.source.tolist(), step.target.tolist(), step.choices.tolist(), strict=True)
        for source, target, number in edges:
            arrived[target] |= {(*text, word) for text in here[source] for word in sets[number]}
    return found


@singledispatch
def lowest_margins(model: Any, ids: Tensor, label: int, rivals: np.ndarray) -> Tensor:
    """The margins of texts of one length, [texts, rivals], no greater than what rounding may make of them beyond the
    allowance of the model."""
    raise TypeError(type(model).__name__)


@lowest_margins.register
@torch.no_grad()
def _of_cnn(model: TextCNN, ids: Tensor, label: int, rivals: np.ndarray) -> Tensor:
    logits: Tensor = model(ids)
    return logits[:, [label]] - logits[:, torch.from_numpy(rivals)]


@lowest_margins.register
@torch.no_grad()
def _of_bilstm(model: BiLSTM, ids: Tensor, label: int, rivals: np.ndarray) -> Tensor:
    """The states are known to within what rounding makes of them; a text without words is one zero vector."""
    vectors = model.embedding(model.embedding.encode(ids))
    if not ids.shape[1]:
        vectors = vectors.new_zeros(len(ids), 1, model.embedding.width)
    lengths = torch.full((len(ids),), vectors.shape[1])
    low, high = (model.pool([end[:, 0], end[:, 1]], lengths) for end in enclosed_states(model, vectors))
    other = torch.from_numpy(rivals)
    weight = model.head.weight[label] - model.head.weight[other]
    bias = model.head.bias[label] - model.head.bias[other]
    return low @ weight.clamp(min=0).T + high @ weight.clamp(max=0).T + bias
