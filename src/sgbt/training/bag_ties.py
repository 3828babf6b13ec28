"""Weights of a LinearBag, tied over the substitution graph (`sgbt.training.ties`).

Where word vectors are given (`sgbt.training.bag_vectors`), a linear function of the vector of a word's community is
added to its weight: what words that are used alike have in common need not be learned for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import LinearBag
from sgbt.models.bag_features import with_word, word_of
from sgbt.training.ties import Members, Ties


@dataclass(frozen=True, slots=True, eq=False)
class BagTies:
    """The weights of all features from the parts that the optimiser moves.

    `vectors` [words, width] are further columns, of words alone, which come first among the features.
    """

    ties: Ties
    vectors: Tensor | None = None

    @property
    def parts(self) -> int:
        """How many numbers the optimiser moves for each class."""
        return self.ties.parts + (0 if self.vectors is None else self.vectors.shape[1])

    @staticmethod
    def of(model: LinearBag, communities: Tensor, vectors: Tensor | None = None) -> BagTies:
        """From the community of every word at each level, [levels, words], and what vectors say of words.

        Two features share a part when their words share a community and all else is equal. Features of codes alone
        are always by themselves: nothing replaces them.
        """
        size = len(model.codes)
        word = torch.cat([torch.arange(size), word_of(model.keys)])
        reads = (word >= 0).nonzero().squeeze(1)
        keyed = reads[reads >= size]
        levels = [
            Members(reads, torch.cat([community, with_word(model.keys[keyed - size], community[word[keyed]])]))
            for community in communities
        ]
        return BagTies(Ties.of(len(model.weight), levels, model.weight.dtype), vectors)

    def weights(self, parts: Tensor) -> Tensor:
        """The weights of all features, [features, classes]."""
        own = self.ties.parts
        result = self.ties.values(parts[:own])
        if self.vectors is None:
            return result
        told = self.vectors @ parts[own:]
        return result + F.pad(told, (0, 0, 0, len(result) - len(told)))
