"""What a loss asks of the word vector at each place of a text: the slope that attacks within training follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models.cnn import TextCNN
from sgbt.models.compiled_loops import compiled_for
from sgbt.models.pooled_windows import gradient_at_places, windows_in
from sgbt.models.shapes import Allowed, Choices, Ids, Mask, Vectors

LossOfLogits = Callable[[Tensor], Tensor]


@singledispatch
def word_gradients(model: Any, ids: Ids, mask: Mask, loss: LossOfLogits) -> Vectors:
    """The gradient of a loss of the logits by the vector at each place, [texts, words, width].

    It is looked at and not trained through: vectors are detached.
    """
    vectors = model.embedding(model.embedding.encode(ids)).detach().requires_grad_()
    (found,) = torch.autograd.grad(loss(model.from_vectors(vectors, mask)), [vectors])
    return found


@word_gradients.register
def _of_cnn(model: TextCNN, ids: Ids, mask: Mask, loss: LossOfLogits) -> Vectors:
    layers = model.layers()
    if not model.by_winners or not compiled_for(model.embedding.weight, *(layer.weight for layer in layers)):
        return word_gradients.dispatch(object)(model, ids, mask, loss)
    read, lengths = model.prepared(ids, mask)
    distinct, places = read.unique(return_inverse=True)
    vectors = model.embedding(distinct).detach()
    pooled = [
        gradient_at_places(vectors, layer.weight.detach(), places, windows_in(lengths, layer.kernel_size[0]))
        for layer in layers
    ]
    greatest = [value.requires_grad_() for value, _ in pooled]
    asked = torch.autograd.grad(loss(model(ids, mask, model.of_winners(greatest))), greatest)
    total = torch.stack([back(gradient) for (_, back), gradient in zip(pooled, asked, strict=True)]).sum(dim=0)
    return total[:, : ids.shape[1]] * mask.unsqueeze(-1)


def along_gradients(gradients: Vectors, vectors: Tensor, choices: Choices, allowed: Allowed) -> Tensor:
    """The vector of each allowed choice times the gradient at its place, [texts, words, choices]; zero at others."""
    if not compiled_for(gradients, vectors):
        found: Tensor = torch.einsum("twcd,twd->twc", F.embedding(choices, vectors), gradients)
        return found.masked_fill(~allowed, 0)
    from sgbt.models.winning_windows import along

    values = gradients.new_zeros(choices.shape)
    slopes, read = gradients.contiguous().numpy(), vectors.contiguous().numpy()
    along(slopes, read, choices.contiguous().numpy(), allowed.contiguous().numpy(), values.numpy())
    return values
