"""WordEmbedding: ids to vectors, with the padding row always zero."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from sgbt.bounds import Interval
from sgbt.core.errors import ModelError
from sgbt.core.shapes import Float, Int
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import Vocabulary
from sgbt.threats.vocabulary import PADDING


class WordEmbedding(nn.Module):
    """A vector for every id, frozen by default, with an optional projection that all words share.

    The padding id is zero whatever was trained: padding never carries a signal, and never receives a gradient. With
    `codes`, an id is first replaced by its code: words that share a code are one word to everything above.
    """

    weight: nn.Parameter
    codes: Tensor | None

    def __init__(
        self,
        matrix: Tensor,
        *,
        trainable: bool = False,
        projection: int | None = None,
        codes: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(matrix.clone(), requires_grad=trainable)
        self.projection = nn.Linear(matrix.shape[1], projection) if projection else None
        self.register_buffer("codes", codes)
        self._box: tuple[object, Interval] | None = None
        self.source: EmbeddingTable | None = None
        self.precision: torch.dtype | None = None

    @staticmethod
    def of(table: EmbeddingTable, *, trainable: bool = False, projection: int | None = None) -> WordEmbedding:
        """An embedding of a table's width, still without words: training gives it those of its vocabulary (`adopt`)."""
        embedding = WordEmbedding(matrix_of(table, Vocabulary(())), trainable=trainable, projection=projection)
        embedding.source = table
        return embedding

    def adopt(self, vocabulary: Vocabulary) -> None:
        """Take the vectors of another vocabulary's words from the same table."""
        if self.source is None:
            raise ModelError(
                expected="an embedding made of an EmbeddingTable",
                got="one made of a matrix",
                remedy="pass its vocabulary",
            )
        self.weight = nn.Parameter(matrix_of(self.source, vocabulary).to(self.weight), self.weight.requires_grad)
        self.codes = None  # they were those of other words
        self._box = None

    @property
    def width(self) -> int:
        """The numbers per word that the layers above see."""
        return self.projection.out_features if self.projection is not None else self.weight.shape[1]

    def encode(self, ids: Int[Tensor, "*places"]) -> Int[Tensor, "*places"]:
        """The codes of ids, which are the ids themselves where there are no codes."""
        return ids if self.codes is None else self.codes[ids]

    def forward(self, codes: Int[Tensor, "*places"]) -> Float[Tensor, "*places width"]:
        """The vectors of codes of any shape, along a new last axis, in `precision` if that is set."""
        vectors = nn.functional.embedding(codes, self.weight)
        if self.precision is not None:
            vectors = vectors.to(self.precision)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return vectors * (codes != PADDING).unsqueeze(-1).to(vectors.dtype)

    def box(self) -> Interval:
        """A box that contains the vector of every word there is, and zero: proven, whatever text is read.

        Of a frozen table it is found once; of a trainable one, and through a projection, it carries gradients. The
        padding row itself is not looked at: padding is read as zero after the projection, whatever is stored there.
        """
        box = self._words_box()
        if self.projection is not None:
            box = box.affine(self.projection.weight, self.projection.bias)
        return Interval(box.lower.clamp(max=0), box.upper.clamp(min=0))

    def _words_box(self) -> Interval:
        if self.weight.requires_grad or parametrize.is_parametrized(self):  # made anew at every look, or about to move
            return Interval.hull(self.weight[PADDING + 1 :])
        state = (self.weight.data_ptr(), self.weight._version, self.weight.dtype, self.weight.device)
        if self._box is None or self._box[0] != state:
            self._box = state, Interval.hull(self.weight.detach()[PADDING + 1 :])
        return self._box[1]


def check_reading(dropout: float, projection: int | None) -> None:
    """Refuse options that no model can be built with."""
    if not 0 <= dropout < 1:
        raise ModelError(expected="a share from 0 to below 1", got=str(dropout), where="the option dropout")
    if projection is not None and projection < 1:
        raise ModelError(expected="a width of at least 1", got=str(projection), where="the option projection")


def matrix_of(table: EmbeddingTable, vocabulary: Vocabulary, *, seed: int = 0) -> Float[Tensor, "ids width"]:
    """One row per id: zero for padding, the table's mean vector for unknown words, and each word's own vector."""
    rows = torch.from_numpy(table.matrix(vocabulary.words, seed=seed))
    mean = torch.from_numpy(np.asarray(table.vectors).mean(axis=0, keepdims=True))
    return torch.cat([torch.zeros(1, table.width), mean, rows])
