"""TextCNN (Kim 2014): windows of words through filters, pooled over the text, then a linear head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.embeddings import EmbeddingTable
from sgbt.errors import ModelError
from sgbt.lexicon.vocabulary import PADDING
from sgbt.models.activations import ACTIVATIONS
from sgbt.models.embedding import WordEmbedding, check_reading


@dataclass(frozen=True, slots=True)
class CNNConfig:
    """What makes one TextCNN differ from another; the paper's Table 3 by default."""

    classes: int = 2
    kernel_sizes: tuple[int, ...] = (3, 4, 5)
    filters: int = 128
    activation: str = "tanh"
    pooling: str = "max"
    dropout: float = 0.5
    projection: int | None = None
    trainable_embedding: bool = False

    def __post_init__(self) -> None:
        for field, value, allowed in (
            ("activation", self.activation, tuple(ACTIVATIONS)),
            ("pooling", self.pooling, ("max", "mean")),
        ):
            if value not in allowed:
                raise ModelError(wanted=f"one of {', '.join(allowed)}", got=repr(value), where=f"the option {field}")
        object.__setattr__(self, "kernel_sizes", tuple(self.kernel_sizes))
        if self.classes < 2 or self.filters < 1 or not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ModelError(wanted="two classes, one filter and one kernel size or more", got=str(self))
        check_reading(self.dropout, self.projection)


class TextCNN(nn.Module):
    """One classifier: `forward(ids, mask)` gives logits [texts, classes].

    A text of N words has N - k + 1 windows of width k; a shorter one has a single window filled up with zeros. Only
    real windows are pooled, so neither a longer neighbour in the batch nor padding changes an answer.

    A filter is affine in each word of its window: z_t = b + sum_l W_l v_{t+l}. So each distinct word of the batch is
    projected once, and windows are sums of those projections: the same result as a convolution, several times faster.
    """

    kind = "cnn"
    Options = CNNConfig

    def __init__(self, words: WordEmbedding | EmbeddingTable, config: CNNConfig | None = None, **options: Any) -> None:
        """From vectors and options; the fields of `CNNConfig` may be given by name."""
        super().__init__()
        self.config = config = replace(config or CNNConfig(), **options)
        if isinstance(words, EmbeddingTable):
            words = WordEmbedding.of(words, trainable=config.trainable_embedding, projection=config.projection)
        self.embedding = embedding = words
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding.width, self.config.filters, size) for size in self.config.kernel_sizes
        )
        self.dropout = nn.Dropout(self.config.dropout)
        self.head = nn.Linear(self.config.filters * len(self.config.kernel_sizes), self.config.classes)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits of token ids [texts, words]; `mask` is True at real words (by default, where an id is not padding)."""
        ids, lengths = self._prepared(ids, mask)
        distinct, places = ids.unique(return_inverse=True)
        vectors = self.embedding(distinct)
        scores = [self._windows_of_words(convolution, vectors, places) for convolution in self._layers()]
        return self.head(self.dropout(self.pool(scores, lengths)))

    def from_vectors(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Logits of word vectors [texts, words, width], for attacks and training that move in vector space."""
        vectors = vectors * mask.unsqueeze(-1).to(vectors.dtype)
        missing = max(self.config.kernel_sizes) - vectors.shape[1]
        if missing > 0:
            vectors = F.pad(vectors, (0, 0, 0, missing))
        scores = [convolution(vectors.transpose(1, 2)).transpose(1, 2) for convolution in self._layers()]
        return self.head(self.dropout(self.pool(scores, mask.sum(dim=1))))

    def pool(self, scores: Sequence[Tensor], lengths: Tensor) -> Tensor:
        """Features [texts, filters of all widths] from pre-activations [texts, windows, filters] of each width."""
        activation = ACTIVATIONS[self.config.activation]
        if self.config.pooling == "max" and activation.monotone:  # the largest value comes from the largest argument
            return activation.function(self.pool_activated(scores, lengths))
        return self.pool_activated([activation.function(z) for z in scores], lengths)

    def pool_activated(self, values: Sequence[Tensor], lengths: Tensor) -> Tensor:
        """The greatest, or the mean, over the real windows of each text."""
        features = []
        for size, value in zip(self.config.kernel_sizes, values, strict=True):
            counts = (lengths - size + 1).clamp(min=1)
            real = (torch.arange(value.shape[1], device=value.device) < counts.unsqueeze(1)).unsqueeze(-1)
            if self.config.pooling == "mean":
                features.append((value * real).sum(dim=1) / counts.unsqueeze(1))
            else:
                features.append(value.masked_fill(~real, -torch.inf).amax(dim=1))
        return torch.cat(features, dim=1)

    def _layers(self) -> list[nn.Conv1d]:
        return [layer for layer in self.convolutions if isinstance(layer, nn.Conv1d)]

    def _prepared(self, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        mask = ids != PADDING if mask is None else mask
        ids = self.embedding.encode(ids.masked_fill(~mask, PADDING))
        missing = max(self.config.kernel_sizes) - ids.shape[1]
        return (F.pad(ids, (0, missing), value=PADDING) if missing > 0 else ids), mask.sum(dim=1)

    @staticmethod
    def _windows_of_words(convolution: nn.Conv1d, vectors: Tensor, places: Tensor) -> Tensor:
        """Pre-activations [texts, windows, filters] from the vectors of the distinct words and where they stand."""
        weight, bias = convolution.weight, convolution.bias  # [filters, width, size], [filters]
        filters, _, size = weight.shape
        windows = places.shape[1] - size + 1
        assert bias is not None
        if not torch.is_grad_enabled():  # in one pass over the windows, without a sum for each offset in between
            projected = F.linear(vectors, weight.permute(2, 0, 1).flatten(0, 1)).view(-1, filters)
            bags = (places * size).unfold(1, size, 1) + torch.arange(size, device=places.device)
            total = F.embedding_bag(bags.flatten(0, 1), projected, mode="sum")
            return total.add_(bias).view(len(places), windows, filters)
        total = bias
        for offset in range(size):
            projected = F.linear(vectors, weight[:, :, offset])
            total = total + F.embedding(places[:, offset : offset + windows], projected)
        return total
