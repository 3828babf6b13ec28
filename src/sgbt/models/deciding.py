"""The arithmetic in which a model decides, and its state at one moment: its own precision where rounding is proven to
be small, else float64.

Rounding errors of a TextCNN in float32 are bounded by its weights alone (`sgbt.certify.rounding`), and the linear
models add up in float64 whatever they are stored in. Through the steps of an LSTM errors of float32 may grow beyond
every margin, half precision is too coarse for any, and of other kinds of models nothing is known: they are stored as
they are and evaluated in float64.

Models that look features up also give logits without padding, for texts that lie end to end (`logits_unpadded`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from sgbt.models.blueprint import blueprint
from sgbt.models.embedding import WordEmbedding

if TYPE_CHECKING:
    from sgbt.models import AnyModel
from sgbt.data import RaggedIds


@singledispatch
def decides_in(model: Any) -> torch.dtype:
    """The least precision in which a model of this kind may decide; registered beside each kind."""
    return torch.float64


def decides_in_float64(model: AnyModel) -> bool:
    """Whether labels are decided by the model's twin in float64 rather than by the model as it is stored."""
    precisions = {weight.dtype for weight in model.parameters()}
    if precisions == {torch.float64}:
        return False
    return precisions != {torch.float32} or decides_in(model) is torch.float64


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


@singledispatch
def logits_unpadded(model: Any, texts: RaggedIds) -> Tensor | None:
    """Logits [texts, classes] in float64, those of `forward` up to rounding; None where a model has no such way.

    Registered beside each kind that has one. What bounds the rounding of sums in `forward` bounds it in any order.
    """
    return None


def has_own_forward(model: Any, kind: type) -> bool:
    """Whether a subclass answers by other rules than its kind."""
    return type(model).forward is not kind.forward  # type: ignore[attr-defined]


def rows_of(texts: RaggedIds) -> Tensor:
    """The text of every word."""
    return torch.repeat_interleave(torch.arange(len(texts)), torch.from_numpy(texts.lengths))
