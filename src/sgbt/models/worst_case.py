"""Worst cases over all substitutions: margins, their dispatch by kind of model, and the boxes of networks' features.

The box is tier one of every certificate and the heart of IBP training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.bounds.ibp import Pair, worst_logits
from sgbt.core.errors import ModelError
from sgbt.models.bilstm import BiLSTM, reversed_within
from sgbt.models.box_recurrence import states_of_sets
from sgbt.models.cnn import ACTIVATIONS, TextCNN
from sgbt.models.pooled_windows import GREATEST, ITSELF, LEAST, greatest_windows_of_sets, windows_in, windows_of_sets
from sgbt.models.set_extremes import extremes_of_sets
from sgbt.models.shapes import Allowed, Choices, Labels, Logits, Mask
from sgbt.models.word_sets import WordSets
from sgbt.threats.vocabulary import PADDING


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """(logit k - logit of the label) of some texts, [texts, classes]: `clean` of the texts themselves, `worst` an
    upper bound over all substitutions."""

    clean: Logits
    worst: Logits

    def at(self, epsilon: float) -> Tensor:
        """Interpolated from the texts themselves (0) to the worst case (1)."""
        return self.clean if not epsilon else (1 - epsilon) * self.clean + epsilon * self.worst

    def take(self, rows: Tensor) -> Margins:
        """Those of some of the texts."""
        return Margins(self.clean[rows], self.worst[rows])

    def to(self, device: torch.device) -> Margins:
        """The same on another device."""
        return Margins(self.clean.to(device), self.worst.to(device))

    def correct(self, labels: Tensor) -> int:
        """How many texts have the greatest clean logit at their label."""
        return int((self.clean.argmax(dim=1) == labels).sum())

    def robust(self, labels: Tensor) -> int:
        """How many texts keep their label in the worst case: every other class stays below it."""
        others = self.worst.scatter(1, labels.unsqueeze(1), -torch.inf)
        return int((others.amax(dim=1) < 0).sum())


def feature_box(model: TextCNN | BiLSTM, ids: Choices, allowed: Allowed, mask: Mask, *, epsilon: float = 1.0) -> Pair:
    """The box of the pooled features [texts, features] when every word may be any of its allowed ones.

    `ids` and `allowed` are [texts, words, choices]; `mask` [texts, words] marks real words.
    """
    return _box(model, *_as_read(model, ids, allowed, mask), epsilon)


def _as_read(model: TextCNN | BiLSTM, ids: Choices, allowed: Allowed, mask: Mask) -> tuple[Tensor, Tensor, Tensor]:
    if not mask.shape[1]:  # a batch without any word is read as padding
        ids, allowed, mask = F.pad(ids, (0, 0, 0, 1)), F.pad(allowed, (0, 0, 0, 1)), F.pad(mask, (0, 1))
    allowed = allowed | ~mask.unsqueeze(-1)
    return model.embedding.encode(ids.masked_fill(~mask.unsqueeze(-1), PADDING)), allowed, mask


@singledispatch
def worst_case_logits(
    model: Any, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> Logits:
    """Upper bounds of (logit k - logit of the label) over all substitutions: [texts, classes], zero at the label.

    Of a `BagOfWords` they are exact. For linear models, `epsilon` below one draws them towards the text's own margins.
    A new kind of model registers its own here; with it, it can be trained on the worst case and certified.
    """
    raise ModelError(
        expected="a model with a worst case",
        got=type(model).__name__,
        remedy="register one: @sgbt.models.worst_case_logits.register",
    )


@worst_case_logits.register
def _of_network(
    model: TextCNN | BiLSTM, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> Logits:
    features = feature_box(model, ids, allowed, mask, epsilon=epsilon)
    return worst_logits(features, model.head.weight, model.head.bias, labels)


@singledispatch
def clean_and_worst_logits(
    model: Any, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> tuple[Logits, Logits]:
    """The logits of the texts themselves, and `worst_case_logits`. What both are made of may be found once."""
    return model(ids[..., 0], mask), worst_case_logits(model, ids, allowed, mask, labels, epsilon=epsilon)


@clean_and_worst_logits.register
def _of_cnn(
    model: TextCNN, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> tuple[Logits, Logits]:
    if not model.by_winners:
        return clean_and_worst_logits.dispatch(object)(model, ids, allowed, mask, labels, epsilon=epsilon)
    read = _as_read(model, ids, allowed, mask)
    features, lower, upper = _pooled(model, *read, epsilon, (ITSELF, LEAST, GREATEST))
    worst = worst_logits((lower, upper), model.head.weight, model.head.bias, labels)
    return model(ids[..., 0], mask, features), worst


def towards_text(model: Any, worst: Logits, ids: Choices, mask: Mask, labels: Labels, epsilon: float) -> Logits:
    """Worst margins of a linear model, interpolated towards those of the texts themselves."""
    if epsilon == 1.0:
        return worst
    logits: Tensor = model(ids[..., 0], mask)
    return epsilon * worst + (1 - epsilon) * (logits - logits.gather(1, labels.unsqueeze(1)))


@singledispatch
def _box(model: Any, ids: Tensor, allowed: Tensor, mask: Tensor, epsilon: float) -> Pair:
    raise TypeError(type(model).__name__)


@_box.register
def _cnn_box(model: TextCNN, ids: Tensor, allowed: Tensor, mask: Tensor, epsilon: float) -> Pair:
    if model.by_winners:
        lower, upper = _pooled(model, ids, allowed, mask, epsilon, (LEAST, GREATEST))
        return lower, upper
    sets, lengths = WordSets.of(*_for_filters(model, ids, allowed)), mask.sum(dim=1)
    vectors, activation = model.embedding(sets.words), ACTIVATIONS[model.config.activation]
    ranges = [
        activation.range(*windows_of_sets(vectors, layer.weight, sets, layer.bias, epsilon)) for layer in model.layers()
    ]
    least, greatest = ([pair[end] for pair in ranges] for end in (0, 1))
    return model.pool_activated(least, lengths), model.pool_activated(greatest, lengths)


def _pooled(
    model: TextCNN, ids: Tensor, allowed: Tensor, mask: Tensor, epsilon: float, ends: tuple[int, ...]
) -> list[Tensor]:
    """The features of the texts themselves or the ends of their boxes, each [texts, features]."""
    sets, lengths = WordSets.of(*_for_filters(model, ids, allowed)), mask.sum(dim=1)
    vectors = model.embedding(sets.words)
    found = [
        greatest_windows_of_sets(
            vectors, layer.weight, sets, windows_in(lengths, layer.kernel_size[0]), ends, epsilon=epsilon
        )
        for layer in model.layers()
    ]
    return [model.of_winners(greatest) for greatest in zip(*found, strict=True)]


def _for_filters(model: TextCNN, ids: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Filled up with padding, where the widest filter is wider."""
    missing = max(max(model.config.kernel_sizes) - ids.shape[1], 0)
    return F.pad(ids, (0, 0, 0, missing)), F.pad(allowed, (0, 0, 0, missing), value=True)


@_box.register
def _bilstm_box(model: BiLSTM, ids: Tensor, allowed: Tensor, mask: Tensor, epsilon: float) -> Pair:
    lengths, order = mask.sum(dim=1).clamp(min=1).sort(descending=True, stable=True)
    sets, lstms = WordSets.of(ids[order], allowed[order]), (model.forwards, model.backwards)
    behind = reversed_within(sets.places.unsqueeze(-1), lengths).squeeze(-1)
    weight = torch.cat([lstm.get_parameter("weight_ih_l0") for lstm in lstms])
    bias = torch.cat([lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0") for lstm in lstms])
    ends = extremes_of_sets(F.linear(model.embedding(sets.words), weight, bias), sets, epsilon=epsilon)
    low, high = (torch.stack(end.chunk(len(lstms), dim=1)) for end in ends)
    recurrent = torch.stack([lstm.get_parameter("weight_hh_l0") for lstm in lstms])
    states = states_of_sets(low, high, recurrent, torch.stack([sets.places, behind]), lengths)
    lower, upper = (model.pool(end.unbind(dim=1), lengths)[order.argsort()] for end in states)
    return lower, upper
