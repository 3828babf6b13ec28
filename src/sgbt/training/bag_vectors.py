"""What word vectors say of the words of a LinearBag: a row of numbers for each, the same throughout a community."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from sgbt.embeddings import EmbeddingTable
from sgbt.lexicon import Vocabulary


def vectors_of_communities(
    vocabulary: Vocabulary, vectors: EmbeddingTable, counts: Mapping[str, int], communities: np.ndarray
) -> Tensor:
    """The mean vector of each word's community, [ids, width]; `communities` [ids] are those of the words.

    Vectors are centred and scaled to a mean square length of one. Within a community words weigh as much as they
    occur, and a word without a vector takes the mean of the others; a community without any has zeros.
    """
    rows = {word: row for word in vocabulary.words if (row := vectors.row_of(word)) is not None}
    total, weight = np.zeros((len(vocabulary), vectors.width)), np.zeros(len(vocabulary))
    if rows:
        own = np.asarray(vectors.vectors, np.float64)[[*rows.values()]]
        own -= own.mean(axis=0)
        own /= max(float(np.sqrt((own**2).sum(axis=1).mean())), 1e-12)
        occurs = np.array([max(counts.get(word, 0), 1) for word in rows])
        groups = communities[[vocabulary.id_of(word) for word in rows]]
        np.add.at(total, groups, own * occurs[:, None])
        np.add.at(weight, groups, occurs)
    means = total / weight.clip(min=1e-12)[:, None]
    return torch.from_numpy(means[communities].astype(np.float32))
