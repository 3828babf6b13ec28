"""Texts whose words are mixtures of their substitutes: the vector space that ascc and atfl move in."""

from __future__ import annotations

import torch
from torch import Tensor

from sgbt.models import Network
from sgbt.training.objective import Step


def word_vectors(model: Network, step: Step) -> Tensor:
    """The vectors of all choices, [texts, words, choices, width]."""
    vectors: Tensor = model.embedding(model.embedding.encode(step.choices.ids))
    return vectors


def mixed_logits(model: Network, step: Step, vectors: Tensor, mixture: Tensor) -> Tensor:
    """Logits when every word is the mixture of its choices with weights [texts, words, choices]."""
    return model.from_vectors(torch.einsum("twc,twcd->twd", mixture, vectors), step.mask)
