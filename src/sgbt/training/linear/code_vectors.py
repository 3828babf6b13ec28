"""What word vectors say of n-grams that are one code: the mean vector of its words, for codes that train lacks as well.

A linear function of the vectors, learnt beside each feature's own weight and folded into it in the end, lets words that
train has seldom, or never, learn from words that are used like them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.embeddings import EmbeddingTable
from sgbt.models.bag_of_ngrams.model import MAP_SHIFT
from sgbt.threats import UNKNOWN, Vocabulary
from sgbt.training.initialisers import cluster_vectors


@dataclass(frozen=True, slots=True, eq=False)
class CodeVectors:
    """The sorted keys of single codes whose words have vectors, and the mean of these [codes, width]."""

    keys: Tensor
    vectors: Tensor

    @staticmethod
    def none() -> CodeVectors:
        """Where there are no vectors."""
        return CodeVectors(torch.zeros(0, dtype=torch.int64), torch.zeros(0, 0))

    @staticmethod
    def of(
        maps: Iterable[Tensor], vocabulary: Vocabulary, source: EmbeddingTable, counts: Mapping[str, int]
    ) -> CodeVectors:
        """Of all codes of every map from words to codes."""
        keys, vectors = [], []
        for number, codes in enumerate(maps):
            listed, first = np.unique(codes.numpy(), return_index=True)
            found = cluster_vectors(vocabulary, source, counts, codes.numpy())[torch.from_numpy(first)]
            known = torch.from_numpy(listed > UNKNOWN) & (found != 0).any(dim=1)
            keys.append(torch.from_numpy(listed)[known] | number << MAP_SHIFT)
            vectors.append(found[known])
        return CodeVectors(torch.cat(keys), torch.cat(vectors))
