"""The arithmetic in which a model decides: its own where its rounding is proven to be small, else float64.

Rounding errors of a TextCNN in float32 are bounded by its weights alone (`sgbt.certify.rounding`), and the linear
models add up in float64 whatever they are stored in. Through the steps of an LSTM errors of float32 may grow beyond
every margin, half precision is too coarse for any, and of other kinds of models nothing is known: they are stored as
they are and evaluated in float64.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import nn

from sgbt.models.blueprint import AnyModel, Bag, parts_of
from sgbt.models.cnn import TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.state import ModelState, embeddings_of


def decides_in_float64(model: AnyModel) -> bool:
    """Whether labels are decided by the model's twin in float64 rather than by the model as it is stored."""
    precisions = {weight.dtype for weight in model.parameters()}
    if precisions == {torch.float64}:
        return False
    return precisions != {torch.float32} or not all(isinstance(part, TextCNN | Bag) for part in parts_of(model))


@dataclass(frozen=True, eq=False)
class Twin:
    """A copy in float64 of everything but the word vectors, which it shares: of those, what is read becomes float64.

    `state` is what the model was when it was made, so that no change of it is missed; word vectors, being shared, are
    always those of now.
    """

    model: AnyModel
    state: ModelState

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
            for name, buffer in part.named_buffers(recurse=False):
                if buffer.is_floating_point():
                    setattr(part, name, buffer.double())
            if isinstance(part, WordEmbedding):
                part.precision = torch.float64
        return Twin(twin.eval(), ModelState.of(model))

    def still_of(self, model: AnyModel) -> bool:
        """Whether the model is what it was."""
        pairs = zip(embeddings_of(model), embeddings_of(self.model), strict=True)
        return self.state.still_of(model) and all(ours.weight is theirs.weight for ours, theirs in pairs)
