"""Weights spread over the substitution graph: what one word learns, the words it can be replaced by learn with it.

Training on the worst case wants the weights of substitutes close to each other. With one free number per word, each
step moves only the worst word of each set, and they get there slowly, one overtaking the other. So a weight is written
as w = v + M v + M M v + ..., with v what the optimiser moves and M the symmetric links between substitutes; every w can
still be reached, but close weights of substitutes now come first, and cost the least under an l2 penalty.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from sgbt.lexicon import SubstitutionIndex
from sgbt.lexicon.vocabulary import UNKNOWN
from sgbt.models import LinearBag
from sgbt.models.bag_features import places_of, with_word, word_of

DAMPING = 0.25
"""A link between features with m and n links weighs (m n) to minus this power, so that hubs do not drown the rest."""


def links(model: LinearBag, index: SubstitutionIndex) -> Tensor:
    """The symmetric sparse matrix [features, features] of a model's features that a substitution can exchange.

    Two words are linked when one may replace the other; two features of a word beside codes are linked when their words
    are and all else is equal. Features of codes alone have no links: nothing replaces them.
    """
    size = len(model.codes)
    words, others = _linked_words(index, size)
    sources, targets = [words], [others]
    if len(model.keys):
        own = word_of(model.keys)
        of_words = (own >= 0).nonzero().squeeze(1)
        degree = torch.bincount(words, minlength=size)
        starts = degree.cumsum(0) - degree
        own = own[of_words]
        place = torch.repeat_interleave(of_words, degree[own])
        number = torch.arange(len(place)) - torch.repeat_interleave(degree[own].cumsum(0) - degree[own], degree[own])
        other = others[torch.repeat_interleave(starts[own], degree[own]) + number]
        found = places_of(model.keys, with_word(model.keys[place], other))
        sources.append(place[found >= 0] + size)
        targets.append(found[found >= 0] + size)
    source, target = torch.cat(sources), torch.cat(targets)
    features = len(model.weight)
    degree = torch.bincount(source, minlength=features).clamp(min=1).to(model.weight.dtype)
    values = (degree[source] * degree[target]) ** -DAMPING
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(source, minlength=features).cumsum(0)])
    order = torch.argsort(source * features + target)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            starts.int(), target[order].int(), values[order], (features, features), check_invariants=False
        )


def spread(weight: Tensor, matrix: Tensor, *, hops: int) -> Tensor:
    """w = v + M v + ... + M^hops v."""
    result: Tensor = _Spread.apply(weight, matrix, hops)
    return result


class _Spread(torch.autograd.Function):
    """A polynomial of a symmetric matrix is symmetric: the gradient takes the same road back."""

    @staticmethod
    def forward(context: Any, weight: Tensor, matrix: Tensor, hops: int) -> Tensor:
        context.matrix, context.hops = matrix, hops
        return _polynomial(weight, matrix, hops)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _polynomial(gradients[0], context.matrix, context.hops), None, None


def _polynomial(weight: Tensor, matrix: Tensor, hops: int) -> Tensor:
    total = reached = weight
    for _ in range(hops):
        reached = matrix @ reached
        total = total + reached
    return total


def _linked_words(index: SubstitutionIndex, size: int) -> tuple[Tensor, Tensor]:
    """Pairs of different words, one of which may replace the other, both ways round, sorted by the first."""
    choices, counts = index.choices[:size], index.counts[:size]
    slots = torch.arange(choices.shape[1])
    chosen = (slots > 0) & (slots < counts.unsqueeze(1))
    words, others = chosen.nonzero(as_tuple=True)[0], choices[chosen]
    known = (words > UNKNOWN) & (others > UNKNOWN)
    words, others = words[known], others[known]
    pairs = torch.cat([words * size + others, others * size + words]).unique()
    return pairs // size, pairs % size
