"""Texts whose words are mixtures of their substitutes: the vector space that ascc and atfl move in."""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.errors import TrainingError
from sgbt.models import Model, TwoChannel
from sgbt.training.objective import Step


def word_vectors(model: Model, step: Step) -> Tensor:
    """The vectors of all choices, [texts, words, choices, width]."""
    if isinstance(model, TwoChannel):
        raise TrainingError(
            wanted="a model with one channel", got="two channels", where="the objective", remedy="use ibp or certified"
        )
    return model.embedding(model.embedding.encode(step.choices.ids))


def mixed_logits(model: Model, step: Step, vectors: Tensor, mixture: Tensor) -> Tensor:
    """Logits when every word is the mixture of its choices with weights [texts, words, choices]."""
    assert not isinstance(model, TwoChannel)
    return model.from_vectors(torch.einsum("twc,twcd->twd", mixture, vectors), step.mask)
