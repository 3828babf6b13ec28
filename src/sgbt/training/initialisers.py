"""Initialisers: where the weights of a network start.

Word vectors may start as means over synonym clusters (communities of the substitution graph), where the boxes of
interval propagation are narrow. `start_as_linear` starts all weights as a fitted linear model, for the recipe
`WarmStart`: from vectors that know nothing of the task, a network trained on intervals ends far below a linear model
with one weight per word, whose loss is convex. The weights become coordinates of the word vectors, one for each class;
one filter (or one unit of each direction of an LSTM) for each class copies its coordinate, nearly unchanged because
tanh is nearly straight around zero, and the mean over the text and the head add it up. All other weights of the head
start at zero. One difference is the length of a text: a BagOfWords divides by its square root where a mean divides by
all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfNgramsConfig, BagOfWords, BiLSTM, Network, TextCNN
from sgbt.threats import Vocabulary
from sgbt.threats.codes import code_matrix, community_levels
from sgbt.training.loop.steps import Corpus
from sgbt.training.objectives.growth import activation_of

RESOLUTION = BagOfNgramsConfig().resolution
"""Of the clusters whose means words start as; coarser than those whose words are tied."""
LENGTH = 3.0
"""The root mean square length of vectors that `ScaledClusterMeans` reads from a table."""
LARGEST = 0.5
"""What the largest weight becomes as a coordinate: tanh is within a twelfth of a straight line up to there."""
OPEN, SHUT = 2.0, -4.0
"""Biases of the gates of an LSTM unit that copies its input: sigmoid is 0.88 and 0.02 there."""


@dataclass(frozen=True)
class Initialiser:
    """Word vectors start as the embedding has them."""

    name: ClassVar[str] = "vectors"
    needs_substitutions: ClassVar[bool] = False

    def check(self, model: Network) -> None:
        """Refuse a network that cannot start so."""

    def apply(self, model: Network, corpus: Corpus) -> None:
        """Set the weights that training starts with."""


@dataclass(frozen=True)
class ClusterMeans(Initialiser):
    """Every word starts as the mean of its cluster's vectors in the embedding as it is."""

    name: ClassVar[str] = "cluster_means"
    needs_substitutions: ClassVar[bool] = True

    @torch.no_grad()
    def apply(self, model: Network, corpus: Corpus) -> None:
        """Replace every vector by its cluster's mean, words counting as often as they occur."""
        codes = corpus.clusters(RESOLUTION)
        weights = np.array([0, 0, *(corpus.counts.get(word, 0) for word in corpus.vocabulary.words)], dtype=float)
        means = code_matrix(model.embedding.weight.detach().cpu().numpy(), codes, weights)[codes]
        model.embedding.weight.copy_(torch.from_numpy(means))


@dataclass(frozen=True)
class ScaledClusterMeans(Initialiser):
    """Every word starts as the mean of its cluster's vectors in the table, scaled to `LENGTH`.

    A word without a vector starts where its substitutes do; a cluster without any starts at zero, the mean of all
    words, and so do unknown words.
    """

    name: ClassVar[str] = "scaled_cluster_means"
    needs_substitutions: ClassVar[bool] = True

    def check(self, model: Network) -> None:
        """Refuse an embedding that was not made of a table."""
        if model.embedding.source is None:
            raise TrainingError(
                expected="an embedding made of a table of vectors", got="one made of a matrix", where=self.name
            )

    @torch.no_grad()
    def apply(self, model: Network, corpus: Corpus) -> None:
        """Replace every vector by that of its cluster."""
        assert corpus.table is not None, "without substitutes there are no clusters"
        embedding, vocabulary, counts = model.embedding, corpus.vocabulary, corpus.counts
        assert embedding.source is not None, "`check` refuses what has no vectors"
        (clusters,) = community_levels(vocabulary, corpus.table, counts, resolutions=(RESOLUTION,))
        embedding.weight.copy_(LENGTH * cluster_vectors(vocabulary, embedding.source, counts, clusters))


INITIALISERS = {kind.name: kind for kind in (Initialiser, ClusterMeans, ScaledClusterMeans)}


def cluster_vectors(
    vocabulary: Vocabulary, vectors: EmbeddingTable, counts: Mapping[str, int], clusters: np.ndarray
) -> Tensor:
    """The mean vector of each word's cluster, [ids, width]; `clusters` [ids] numbers them.

    Vectors are centred and scaled to a mean square length of one. Within a cluster words weigh as much as they occur,
    and a word without a vector takes the mean of the others; a cluster without any has zeros.
    """
    rows = {word: row for word in vocabulary.words if (row := vectors.row_of(word)) is not None}
    if not rows:
        return torch.zeros(len(vocabulary), vectors.width)
    own = np.asarray(vectors.vectors, np.float64)[[*rows.values()]]
    own -= own.mean(axis=0)
    own /= max(float(np.sqrt((own**2).sum(axis=1).mean())), 1e-12)
    groups = clusters[[vocabulary.id_of(word) for word in rows]]
    means = np.zeros((len(vocabulary), vectors.width), np.float32)
    found = code_matrix(own, groups, np.array([counts.get(word, 0) for word in rows], dtype=float))
    means[: len(found)] = found
    return torch.from_numpy(means[clusters])


@singledispatch
def _units(model: Any) -> int:
    """How many features can each copy a coordinate of the word vectors."""
    return 0


@_units.register
def _filters(model: TextCNN) -> int:
    return model.config.filters


@_units.register
def _hidden_units(model: BiLSTM) -> int:
    return model.config.hidden


def check_starts_as_linear(model: Network) -> None:
    """Refuse a network that cannot start as a BagOfWords."""
    config = model.config
    odd = {
        "pooling = mean": config.pooling != "mean",
        "activation = tanh": activation_of(model) != "tanh",
        "no projection": config.projection is not None,
        f"{config.classes} filters or units and numbers per word at least": config.classes
        > min(_units(model), model.embedding.width),
    }
    for expected, fails in odd.items():
        if fails:
            raise TrainingError(expected=f"a network with {expected}", got=str(config), where="warm start")


@torch.no_grad()
def start_as_linear(model: Network, bag: BagOfWords, *, words: float) -> None:
    """Let the network start as the BagOfWords of the same vocabulary; texts have so many `words` on average."""
    classes = bag.config.classes
    weight = bag.weight[: len(bag.codes)]
    weight = weight - weight.mean(dim=1, keepdim=True)  # what all classes share decides nothing
    size = LARGEST / max(float(weight.abs().max()), 1e-12)
    model.embedding.weight[:, -classes:] = size * weight
    model.head.weight.zero_()
    model.head.bias.copy_(bag.bias)
    _copy_coordinates(model, torch.arange(classes), words**0.5, size)


@singledispatch
def _copy_coordinates(model: Any, classes: Tensor, scale: float, size: float) -> None:
    """Make the first features the last coordinates of the words, and the head multiply them by `scale / size`."""
    raise TrainingError(
        expected="a TextCNN or a BiLSTM to start as a BagOfWords", got=type(model).__name__, where="warm start"
    )


@_copy_coordinates.register
def _of_cnn(model: TextCNN, classes: Tensor, scale: float, size: float) -> None:
    first, count = model.convolutions[0], len(classes)
    assert isinstance(first, torch.nn.Conv1d)
    assert first.bias is not None
    first.bias[:count] = 0
    first.weight[:count] = 0
    first.weight[classes, first.in_channels - count + classes] = 1 / first.kernel_size[0]
    model.head.weight[classes, classes] = scale / size


@_copy_coordinates.register
def _of_bilstm(model: BiLSTM, classes: Tensor, scale: float, size: float) -> None:
    hidden, passed = model.config.hidden, float(torch.tensor(OPEN).sigmoid()) ** 2
    for direction, lstm in enumerate((model.forwards, model.backwards)):
        _copy_input(lstm, len(classes), hidden)
        model.head.weight[classes, direction * hidden + classes] = scale / (2 * passed * size)


def _copy_input(lstm: torch.nn.LSTM, classes: int, hidden: int) -> None:
    """The first units output the last coordinates of their input, and forget at once."""
    entering, recurrent = lstm.get_parameter("weight_ih_l0"), lstm.get_parameter("weight_hh_l0")
    for gate, bias in enumerate((OPEN, SHUT, 0.0, OPEN)):  # torch's order: input, forget, candidate, output
        units = gate * hidden + torch.arange(classes)
        entering[units] = 0
        recurrent[units] = 0
        lstm.get_parameter("bias_ih_l0")[units] = bias
        lstm.get_parameter("bias_hh_l0")[units] = 0
    candidates = torch.arange(classes)
    entering[2 * hidden + candidates, entering.shape[1] - classes + candidates] = 1
