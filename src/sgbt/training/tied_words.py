"""Word vectors of a network, tied over the substitution graph while it trains (`sgbt.training.ties`).

A network that is trained on the worst case has to bring the vectors of substitutes together and keep them there while
they move. Tied, they move together: a step that only the worst word of a set would take is taken by its whole
community, words that train has never seen among them. Weight decay then draws words towards where they started, and
substitutes towards each other. Once trained the vectors are plain ones, and nothing of this is left in the model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from sgbt.errors import TrainingError
from sgbt.lexicon.codes import community_levels
from sgbt.models import GramBagConfig, Network
from sgbt.training.bag_vectors import vectors_of_communities
from sgbt.training.objective import Corpus
from sgbt.training.ties import Members, Ties

RESOLUTION = GramBagConfig().resolution
"""Of the communities that words start in, coarser than those that they are tied over: boxes are narrow at first."""
LENGTH = 3.0
"""Of a vector at the start, the root of the mean square over words, whatever table it is from."""


class TiedVectors(nn.Module):
    """vectors = start + ties(parts): what the optimiser moves are the parts, which begin at zero."""

    start: Tensor
    matrix: Tensor
    transposed: Tensor

    def __init__(self, start: Tensor, ties: Ties) -> None:
        super().__init__()
        self.register_buffer("start", start, persistent=False)
        self.register_buffer("matrix", ties.matrix, persistent=False)
        self.register_buffer("transposed", ties.transposed, persistent=False)

    def forward(self, parts: Tensor) -> Tensor:
        """The vectors of all words, [words, width]."""
        return self.start + Ties(self.matrix, self.transposed).values(parts)

    def right_inverse(self, vectors: Tensor) -> Tensor:
        """The parts that training begins with."""
        return vectors.new_zeros(self.matrix.shape[1], vectors.shape[1])


@contextlib.contextmanager
def tied(model: Network, communities: np.ndarray | None) -> Iterator[None]:
    """The model's vectors are tied over communities [levels, words], and plain again afterwards; None: not tied."""
    if communities is None:
        yield
        return
    embedding, levels = model.embedding, torch.from_numpy(communities)
    words = torch.arange(levels.shape[1])
    ties = Ties.of(len(words), [Members(words, level) for level in levels], embedding.weight.dtype)
    start = embedding.weight.detach().clone()
    vectors = TiedVectors(start, ties.to(start.device))
    parametrize.register_parametrization(embedding, "weight", vectors, unsafe=True)  # unsafe: another shape
    try:
        yield
    finally:
        parametrize.remove_parametrizations(embedding, "weight", leave_parametrized=True)
        embedding.weight.grad = None  # it was that of the parts


def check_ties(model: Network) -> None:
    """Refuse a network whose vectors do not move."""
    if not model.embedding.weight.requires_grad:
        raise TrainingError(
            wanted="an embedding that is trained, for vectors that are tied",
            got="a frozen one",
            where="ties",
            remedy="set trainable_embedding, or leave ties out",
        )
    if model.embedding.source is None:
        raise TrainingError(
            wanted="an embedding made of a table of vectors, for vectors that are tied",
            got="one made of a matrix",
            where="ties",
        )


@torch.no_grad()
def start_in_communities(model: Network, corpus: Corpus) -> None:
    """Let every word start as the mean vector of its community, in vectors of `LENGTH` on average.

    A word without a vector so starts where its substitutes do; a community without any starts at zero, the mean of all
    words, and so do unknown words.
    """
    assert corpus.table is not None, "without substitutes there are no communities"
    embedding, vocabulary, counts = model.embedding, corpus.vocabulary, corpus.counts
    assert embedding.source is not None, "check_ties refuses what has no vectors"
    (communities,) = community_levels(vocabulary, corpus.table, counts, resolutions=(RESOLUTION,))
    means = vectors_of_communities(vocabulary, embedding.source, counts, communities)
    embedding.weight.copy_(LENGTH * means)
