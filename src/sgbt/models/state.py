"""ModelState: what decides a model's answers, as it was at one moment, so that a later change is noticed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgbt.models.blueprint import AnyModel, blueprint
from sgbt.models.embedding import WordEmbedding


@dataclass(frozen=True, eq=False)
class ModelState:
    """The blueprint of a model and its weights: what its identity covers, but cheap to compare.

    Weights are compared number by number. Word vectors, of which there are millions, are compared by where they lie and
    how often they were written: only what is written to them behind the back of torch, through `.data` or numpy, is
    missed.
    """

    plan: dict[str, Any]
    weights: dict[str, Tensor]
    vectors: tuple[tuple[object, ...], ...]

    @staticmethod
    def of(model: AnyModel) -> ModelState:
        """The state of a model as it is now."""
        return ModelState(
            blueprint(model), {name: weight.clone() for name, weight in _weights(model).items()}, _vectors(model)
        )

    def still_of(self, model: AnyModel) -> bool:
        """Whether the model is what it was."""
        now = _weights(model)
        return (
            self.vectors == _vectors(model)
            and self.plan == blueprint(model)
            and now.keys() == self.weights.keys()
            and all(_same(now[name], weight) for name, weight in self.weights.items())
        )


def embeddings_of(model: AnyModel) -> list[WordEmbedding]:
    """The word vectors of a model, one for each part that has some."""
    return [part for part in model.modules() if isinstance(part, WordEmbedding)]


def _weights(model: AnyModel) -> dict[str, Tensor]:
    """All weights and buffers but word vectors."""
    vectors = {id(part.weight) for part in embeddings_of(model)}
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: weight.detach() for name, weight in named if id(weight) not in vectors}


def _vectors(model: AnyModel) -> tuple[tuple[object, ...], ...]:
    stored = {id(weight): weight for weight in model.parameters()}
    marks = [stored[id(part.weight)] for part in embeddings_of(model) if id(part.weight) in stored]
    return tuple((each.data_ptr(), _written(each), each.dtype, each.device, each.shape) for each in marks)


def _written(weight: Tensor) -> int:
    return 0 if weight.is_inference() else weight._version


def _same(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.device == other.device and torch.equal(one, other)
