"""TextCNN (Kim 2014): windows of words through filters, pooled over the text, then a linear head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.bounds.activations import softplus
from sgbt.core.errors import ModelError
from sgbt.embeddings import EmbeddingTable
from sgbt.models.deciding import decides_in
from sgbt.models.embedding import WordEmbedding, check_reading
from sgbt.models.pooled_windows import greatest_window, windows_in, windows_of_words
from sgbt.models.shapes import Features, Ids, Lengths, Logits, Mask, Vectors
from sgbt.models.word_projections import WordProjections, window_sums
from sgbt.threats.vocabulary import PADDING


@dataclass(frozen=True, slots=True)
class Nonlinearity:
    """A function that never falls, except perhaps below its single lowest point."""

    function: Callable[[Tensor], Tensor]
    lowest: float | None = None

    @property
    def monotone(self) -> bool:
        """Whether the largest value always comes from the largest argument."""
        return self.lowest is None

    def range(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """The exact range over boxes: ends, and the lowest point where it is inside."""
        ends = self.function(lower), self.function(upper)
        if self.lowest is None:
            return ends
        deepest = self.function(torch.maximum(torch.minimum(lower.new_tensor(self.lowest), upper), lower))
        return torch.minimum(torch.minimum(*ends), deepest), torch.maximum(*ends)


ACTIVATIONS = {
    "tanh": Nonlinearity(torch.tanh),
    "sigmoid": Nonlinearity(torch.sigmoid),
    "softplus": Nonlinearity(softplus),
    "relu": Nonlinearity(torch.relu),
    "gelu": Nonlinearity(nn.functional.gelu, lowest=-0.7517915246935645),
}


POSITIONS_AT_ONCE = 4096
"""Without gradients, texts are read in parts of about so many positions, so that what is made of them stays in the
processor's cache."""

POOLINGS = ("max", "mean")


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
            ("pooling", self.pooling, POOLINGS),
        ):
            if value not in allowed:
                raise ModelError(expected=f"one of {', '.join(allowed)}", got=repr(value), where=f"the option {field}")
        object.__setattr__(self, "kernel_sizes", tuple(self.kernel_sizes))
        if self.classes < 2 or self.filters < 1 or not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ModelError(expected="two classes, one filter and one kernel size or more", got=str(self))
        check_reading(self.dropout, self.projection)

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are needed to train such a model."""
        return True


class TextCNN(nn.Module):
    """One classifier: `forward(ids, mask)` gives logits [texts, classes].

    A text of N words has N - k + 1 windows of width k; a shorter one has a single window filled up with zeros. Only
    real windows are pooled, so neither a longer neighbour in the batch nor padding changes an answer.

    A filter is affine in each word of its window: z_t = b + sum_l W_l v_{t+l}. So each distinct word of the batch is
    projected once, and windows are sums of those projections: the same result as a convolution, several times faster.
    Where no gradients are asked for, projections are kept for the next batch (`WordProjections`).
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
        self._projections = WordProjections()

    @classmethod
    def untrained(cls, options: CNNConfig, vectors: Callable[[], EmbeddingTable]) -> Self:
        """A model of these options, over the vectors."""
        return cls(vectors(), options)

    def forward(self, ids: Ids, mask: Mask | None = None, features: Features | None = None) -> Logits:
        """Logits of token ids [texts, words]; `mask` is True at real words (by default, where an id is not padding).

        Pooled `features` of these texts that were found already are not found again.
        """
        if features is None:
            ids, lengths = self.prepared(ids, mask)
            found = self._features if torch.is_grad_enabled() else self._features_of_parts
            features = found(ids, lengths)
        logits: Tensor = self.head(self.dropout(features))
        return logits

    def from_vectors(self, vectors: Vectors, mask: Mask) -> Logits:
        """Logits of word vectors [texts, words, width], for attacks and training that move in vector space."""
        vectors = vectors * mask.unsqueeze(-1).to(vectors.dtype)
        missing = max(self.config.kernel_sizes) - vectors.shape[1]
        if missing > 0:
            vectors = F.pad(vectors, (0, 0, 0, missing))
        scores = [convolution(vectors.transpose(1, 2)).transpose(1, 2) for convolution in self.layers()]
        logits: Tensor = self.head(self.dropout(self.pool(scores, mask.sum(dim=1))))
        return logits

    def pool(self, scores: Sequence[Tensor], lengths: Lengths) -> Features:
        """Features [texts, filters of all widths] from pre-activations [texts, windows, filters] of each width."""
        activation = ACTIVATIONS[self.config.activation]
        if self.by_winners:
            return activation.function(self.pool_activated(scores, lengths))
        return self.pool_activated([activation.function(z) for z in scores], lengths)

    def pool_activated(self, values: Sequence[Tensor], lengths: Tensor) -> Tensor:
        """The greatest, or the mean, over the real windows of each text."""
        features = []
        for size, value in zip(self.config.kernel_sizes, values, strict=True):
            counts = windows_in(lengths, size)
            real = (torch.arange(value.shape[1], device=value.device) < counts.unsqueeze(1)).unsqueeze(-1)
            if self.config.pooling == "mean":
                features.append((value * real).sum(dim=1) / counts.unsqueeze(1))
            else:
                features.append(value.masked_fill(~real, -torch.inf).amax(dim=1))
        return torch.cat(features, dim=1)

    @property
    def by_winners(self) -> bool:
        """Whether a feature hangs on its largest argument alone."""
        return self.config.pooling == "max" and ACTIVATIONS[self.config.activation].monotone

    def of_winners(self, greatest: Sequence[Tensor]) -> Features:
        """Features from the greatest pre-activation of each width's filters, biases left out."""
        biases = [layer.bias for layer in self.layers() if layer.bias is not None]
        return ACTIVATIONS[self.config.activation].function(torch.cat(list(greatest), dim=1) + torch.cat(biases))

    def layers(self) -> list[nn.Conv1d]:
        """The filters of each width."""
        return [layer for layer in self.convolutions if isinstance(layer, nn.Conv1d)]

    def prepared(self, ids: Ids, mask: Mask | None) -> tuple[Ids, Lengths]:
        """The codes that filters read, padding wherever there is no word, and how many words there are."""
        mask = ids != PADDING if mask is None else mask
        ids = self.embedding.encode(ids.masked_fill(~mask, PADDING))
        missing = max(self.config.kernel_sizes) - ids.shape[1]
        return (F.pad(ids, (0, missing), value=PADDING) if missing > 0 else ids), mask.sum(dim=1)

    def _features(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """The pooled features, with gradients."""
        distinct, places = ids.unique(return_inverse=True)
        vectors, layers = self.embedding(distinct), self.layers()
        if self.by_winners:
            counts = [windows_in(lengths, layer.kernel_size[0]) for layer in layers]
            greatest = [
                greatest_window(vectors, layer.weight, places, count)
                for layer, count in zip(layers, counts, strict=True)
            ]
            return self.of_winners(greatest)
        return self.pool([windows_of_words(vectors, layer.weight, places, layer.bias) for layer in layers], lengths)

    def _features_of_parts(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """The pooled features, without gradients: a few texts at a time, each part as long as its longest text."""
        layers = self.layers()
        vocabulary = len(self.embedding.weight)
        read = torch.zeros(vocabulary, dtype=torch.bool, device=ids.device)
        read[ids] = True
        distinct = read.nonzero().flatten()
        words = self._projections.of(
            distinct, self.embedding(distinct), [layer.weight for layer in layers], vocabulary=vocabulary
        )
        place_of = torch.empty(vocabulary, dtype=torch.int64, device=ids.device)
        place_of[distinct] = words.places
        texts = max(POSITIONS_AT_ONCE // ids.shape[1], 1)
        features = []
        for first in range(0, max(len(ids), 1), texts):
            part = lengths[first : first + texts]
            longest = max(part.tolist(), default=0)
            places = place_of[ids[first : first + texts, : max(longest, *self.config.kernel_sizes)]]
            features.append(self._pooled(layers, words.rows, places, part))
        return torch.cat(features)

    def _pooled(self, layers: Sequence[nn.Conv1d], rows: Sequence[Tensor], places: Tensor, lengths: Tensor) -> Tensor:
        """The features of texts whose words stand at these places of `rows` (`ProjectedWords`).

        Adding b rounds monotonely, so the greatest z + b is the greatest z, plus b: one sum for each text and filter.
        """
        if self.by_winners:
            greatest = [
                window_sums(each, places, layer.kernel_size[0], (lengths - layer.kernel_size[0]).clamp(min=0)).amax(
                    dim=1
                )
                for layer, each in zip(layers, rows, strict=True)
            ]
            return self.of_winners(greatest)
        biases = [layer.bias for layer in layers if layer.bias is not None]
        scores = [
            window_sums(each, places, layer.kernel_size[0]).add_(bias)
            for layer, each, bias in zip(layers, rows, biases, strict=True)
        ]
        return self.pool(scores, lengths)


@decides_in.register
def _decides_in(model: TextCNN) -> torch.dtype:
    return torch.float32
