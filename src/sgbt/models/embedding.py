"""WordEmbedding: ids to vectors, with the padding row always zero."""

from __future__ import annotations

import torch
from torch import Tensor, nn

PADDING = 0


class WordEmbedding(nn.Module):
    """A vector for every id, frozen by default, with an optional projection that all words share.

    The padding id is zero whatever was trained: padding never carries a signal, and never receives a gradient.
    """

    weight: nn.Parameter

    def __init__(self, matrix: Tensor, *, trainable: bool = False, projection: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(matrix.clone(), requires_grad=trainable)
        self.projection = nn.Linear(matrix.shape[1], projection) if projection else None

    @property
    def width(self) -> int:
        """The numbers per word that the layers above see."""
        return self.projection.out_features if self.projection is not None else self.weight.shape[1]

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ids of any shape, along a new last axis."""
        vectors = nn.functional.embedding(ids, self.weight)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return vectors * (ids != PADDING).unsqueeze(-1).to(vectors.dtype)

    @torch.no_grad()
    def replace(self, matrix: Tensor) -> None:
        """Take other vectors, for another vocabulary, before training begins."""
        self.weight = nn.Parameter(matrix.clone().to(self.weight), requires_grad=self.weight.requires_grad)
