"""The arithmetic in which a model decides: its own where its rounding is proven to be small, else float64.

Rounding errors of a TextCNN in float32 are bounded by its weights alone (`sgbt.certify.rounding`), and the linear
models add up in float64 whatever they are stored in. Through the steps of an LSTM errors of float32 may grow beyond
every margin, and half precision is too coarse for any: such models are stored as they are and evaluated in float64.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sgbt.models.blueprint import AnyModel
from sgbt.models.embedding import WordEmbedding


def decides_in_float64(model: AnyModel) -> bool:
    """Whether labels are decided by the model's twin in float64 rather than by the model as it is stored."""
    precisions = {weight.dtype for weight in model.parameters()}
    if precisions == {torch.float64}:
        return False
    return precisions != {torch.float32} or any(isinstance(part, nn.LSTM) for part in model.modules())


@dataclass(frozen=True, eq=False)
class Twin:
    """A copy in float64 of everything but the word vectors, which it shares: of those, what is read becomes float64.

    `kept` are the weights as they were when it was made, so that no change of them, however made, is missed.
    """

    model: AnyModel
    kept: dict[str, Tensor]

    @staticmethod
    @torch.no_grad()
    def of(model: AnyModel) -> Twin:
        """The twin of a model as it is now."""
        shared: dict[int, object] = {}
        for part in model.modules():
            if isinstance(part, WordEmbedding):
                shared |= {id(each): each for each in (part.weight, part.source, part._box) if each is not None}
        twin = copy.deepcopy(model, shared)
        for part in twin.modules():
            for name, weight in part.named_parameters(recurse=False):
                if id(weight) not in shared:
                    setattr(part, name, nn.Parameter(weight.double(), requires_grad=False))
            if isinstance(part, WordEmbedding):
                part.precision = torch.float64
        return Twin(twin.eval(), {name: weight.clone() for name, weight in _changing(model).items()})

    def still_of(self, model: AnyModel) -> bool:
        """Whether the model's weights are what they were."""
        now = _changing(model)
        same = now.keys() == self.kept.keys() and all(torch.equal(now[name], self.kept[name]) for name in now)
        pairs = zip(_embeddings(model), _embeddings(self.model), strict=True)
        return same and all(ours.weight is theirs.weight for ours, theirs in pairs)


def _embeddings(model: AnyModel) -> list[WordEmbedding]:
    return [part for part in model.modules() if isinstance(part, WordEmbedding)]


def _changing(model: AnyModel) -> dict[str, Tensor]:
    """The weights and buffers that a twin has copies of."""
    shared = {id(part.weight) for part in _embeddings(model)}
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: weight.detach() for name, weight in named if id(weight) not in shared}
