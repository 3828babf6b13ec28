"""Slopes: how the lead of a label changes, to first order, when a word is replaced; registered for each kind of model.

A sum's slopes are those of its parts, weighted. Of a network over word vectors they are its gradient times the
difference of the vectors (HotFlip, Ebrahimi et al. 2018); what a bag of words adds is exact; other models, such as a
bag of n-grams, have no gradient, and add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.attacks.queries.engine import IdQuery, Ids, WordSwaps, query_engine
from sgbt.core.errors import AttackError
from sgbt.models import BagOfWords, Sum
from sgbt.models.blueprint import parts_of

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lead:
    """The logit of a label less that of its rival."""

    label: int
    rival: int


def require_vectors(model: Any) -> None:
    """Refuse a model of which no part is a network over word vectors: it has no gradient to search by."""
    if not any(hasattr(part, "from_vectors") for part in parts_of(model)):
        raise AttackError(
            expected="a model whose gradient by word vectors is known (TextCNN, BiLSTM, or a sum with one of them)",
            got=type(model).__name__,
            where="the attack gradient",
            remedy="use an attack that only asks for scores, such as greedy or pwws",
        )


@singledispatch
def slopes(model: Any, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    """Change of the lead [positions, choices] when `ids[i, c]` is put at position i of the text `chosen`.

    For a network with `embedding` and `from_vectors`: one pass back through it. Any other model has no gradient.
    """
    if not hasattr(model, "from_vectors"):
        return np.zeros(ids.shape)
    text = torch.from_numpy(chosen).unsqueeze(0)
    with torch.enable_grad():
        vectors = model.embedding(model.embedding.encode(text)).detach().requires_grad_()
        logits = model.from_vectors(vectors, torch.ones_like(text, dtype=torch.bool))[0]
        (gradient,) = torch.autograd.grad(logits[lead.label] - logits[lead.rival], vectors)
    distinct, places = np.unique(ids, return_inverse=True)
    table = model.embedding(model.embedding.encode(torch.from_numpy(distinct))).detach()
    along = gradient[0] @ table.t()  # [positions, distinct words]
    here = (gradient[0] * vectors.detach()[0]).sum(dim=1, keepdim=True)
    change: Array = along.gather(1, torch.from_numpy(places.reshape(ids.shape))).sub(here).double().numpy()
    return change


@slopes.register
def _of_sum(model: Sum, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    change: Array = np.sum([weight * slopes(part, ids, chosen, lead) for weight, part in model.terms], axis=0)
    return change


@slopes.register
def _of_bag_of_words(model: BagOfWords, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    """Every swap is asked about."""
    places, choices = (each.reshape(-1) for each in np.indices(ids.shape))
    states = np.zeros((1, len(chosen)), np.int32)  # a bag of words looks at ids alone
    query = IdQuery(states, chosen[None], WordSwaps(np.zeros_like(places), places, choices), ids.reshape(-1))
    (answer,) = query_engine(model).answers([None], [query])
    moved = (answer.swaps - answer.texts[0]).reshape(*ids.shape, -1)
    change: Array = moved[..., lead.label] - moved[..., lead.rival]
    return change
