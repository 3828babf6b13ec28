"""BiLSTM: a text read from both ends, then a linear head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from sgbt.core.errors import ModelError
from sgbt.core.shapes import Float
from sgbt.embeddings import EmbeddingTable
from sgbt.models.embedding import WordEmbedding, check_reading
from sgbt.models.shapes import Features, Ids, Lengths, Logits, Mask, Vectors
from sgbt.threats.vocabulary import PADDING

POOLINGS = ("last", "mean", "max")


@dataclass(frozen=True, slots=True)
class BiLSTMConfig:
    """What makes one BiLSTM differ from another; the paper's Table 2 by default."""

    classes: int = 2
    hidden: int = 64
    pooling: str = "last"
    dropout: float = 0.5
    projection: int | None = None
    trainable_embedding: bool = False

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ModelError(
                expected=f"one of {', '.join(POOLINGS)}", got=repr(self.pooling), where="the option pooling"
            )
        if self.classes < 2 or self.hidden < 1:
            raise ModelError(expected="two classes and one hidden unit or more", got=str(self))
        check_reading(self.dropout, self.projection)

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are needed to train such a model."""
        return True


class BiLSTM(nn.Module):
    """One classifier: `forward(ids, mask)` gives logits [texts, classes].

    Each direction starts at its own end of the real text, and its state is taken at the other end ("last"), or the
    states at all real words are pooled: averaged ("mean"), or the maximum over words of each unit ("max"). The backward
    direction reads each text reversed within its own length, so padding comes last in both: no state that is used
    depends on it. A text without words is read as one zero vector.
    """

    kind = "bilstm"
    Options = BiLSTMConfig

    def __init__(
        self, words: WordEmbedding | EmbeddingTable, config: BiLSTMConfig | None = None, **options: Any
    ) -> None:
        """From vectors and options; the fields of `BiLSTMConfig` may be given by name."""
        super().__init__()
        self.config = config = replace(config or BiLSTMConfig(), **options)
        if isinstance(words, EmbeddingTable):
            words = WordEmbedding.of(words, trainable=config.trainable_embedding, projection=config.projection)
        self.embedding = embedding = words
        self.forwards = nn.LSTM(embedding.width, self.config.hidden, batch_first=True)
        self.backwards = nn.LSTM(embedding.width, self.config.hidden, batch_first=True)
        self.dropout = nn.Dropout(self.config.dropout)
        self.head = nn.Linear(2 * self.config.hidden, self.config.classes)

    @classmethod
    def untrained(cls, options: BiLSTMConfig, vectors: Callable[[], EmbeddingTable]) -> Self:
        """A model of these options, over the vectors."""
        return cls(vectors(), options)

    def forward(self, ids: Ids, mask: Mask | None = None) -> Logits:
        """Logits of token ids [texts, words]; `mask` is True at real words (by default, where an id is not padding)."""
        mask = ids != PADDING if mask is None else mask
        return self.from_vectors(self.embedding(self.embedding.encode(ids.masked_fill(~mask, PADDING))), mask)

    def from_vectors(self, vectors: Vectors, mask: Mask) -> Logits:
        """Logits of word vectors [texts, words, width], for attacks and training that move in vector space."""
        if not mask.shape[1]:  # a batch without any word: one zero vector each
            vectors, mask = nn.functional.pad(vectors, (0, 0, 0, 1)), nn.functional.pad(mask, (0, 1))
        lengths = mask.sum(dim=1).clamp(min=1)
        vectors = vectors * mask.unsqueeze(-1).to(vectors.dtype)
        read = (vectors, reversed_within(vectors, lengths))
        states = [
            lstm(text)[0].transpose(0, 1) for lstm, text in zip((self.forwards, self.backwards), read, strict=True)
        ]
        logits: Tensor = self.head(self.dropout(self.pool(states, lengths)))
        return logits

    def pool(self, states: Sequence[Tensor], lengths: Lengths) -> Features:
        """Features [texts, 2 hidden] from the states [words, texts, hidden] of each direction in its reading order."""
        if self.config.pooling == "last":
            texts = torch.arange(len(lengths), device=lengths.device)
            return torch.cat([direction[lengths - 1, texts] for direction in states], dim=1)
        real = torch.arange(states[0].shape[0], device=lengths.device).unsqueeze(1) < lengths
        if self.config.pooling == "max":
            ends = [direction.masked_fill(~real.unsqueeze(-1), -torch.inf).amax(dim=0) for direction in states]
            return torch.cat(ends, dim=1)
        sums = [(direction * real.unsqueeze(-1)).sum(dim=0) for direction in states]
        return torch.cat(sums, dim=1) / lengths.unsqueeze(1)


def reversed_within(
    vectors: Float[Tensor, "texts words *width"], lengths: Lengths
) -> Float[Tensor, "texts words *width"]:
    """Each text of a batch reversed within its own length; padding stays behind it."""
    places = torch.arange(vectors.shape[1], device=vectors.device)
    source = lengths.unsqueeze(1) - 1 - places
    source = torch.where(source >= 0, source, places)
    return vectors.gather(1, source.unsqueeze(-1).expand_as(vectors))
