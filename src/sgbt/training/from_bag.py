"""A network that begins as a LinearBag: what single words tell is known, and proven, before its first step.

Trained on intervals from vectors that know nothing of the task, a network has to draw the boxes of some ten thousand
words together and tell them apart at once; it ends far below a linear model with one weight per word, whose loss is
convex. So such a model is fitted first. Its weights become coordinates of the word vectors, one for each class; one
filter (or one unit of each direction of an LSTM) for each class hands its coordinate on, nearly unchanged because tanh
is nearly straight around zero, and the mean over the text and the head add it up. All other weights of the head start
at zero. So the network starts with nearly the answers and the certificates of the LinearBag. One difference is the
length of a text: that model divides by its square root where a mean divides by all of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from sgbt.embeddings import EmbeddingTable
from sgbt.errors import TrainingError
from sgbt.files import make_folder
from sgbt.models import BiLSTM, LinearBag, Network
from sgbt.training.config import PRESETS
from sgbt.training.first_fit import FirstFit
from sgbt.training.listener import Listener
from sgbt.training.objective import Corpus
from sgbt.training.settings import settings_of_first
from sgbt.training.steps import Examples

FOLDER = ".bag"
LARGEST = 0.5
"""What the largest weight becomes as a coordinate: tanh is within a twelfth of a straight line up to there."""
OPEN, SHUT = 2.0, -4.0
"""Biases of the gates of an LSTM unit that hands its input on: sigmoid is 0.88 and 0.02 there."""


def check_begins(model: Network) -> None:
    """Refuse a network that cannot begin as a LinearBag."""
    config = model.config
    units = model.config.hidden if isinstance(model, BiLSTM) else model.config.filters
    odd = {
        "pooling = mean": config.pooling != "mean",
        "activation = tanh": getattr(config, "activation", "tanh") != "tanh",
        "no projection": config.projection is not None,
        f"{config.classes} filters or units and numbers per word at least": config.classes
        > min(units, model.embedding.width),
    }
    for wanted, fails in odd.items():
        if fails:
            raise TrainingError(
                wanted=f"a network with {wanted}", got=str(config), where="from_bag", remedy="leave from_bag out"
            )


def fitted_bag(
    examples: Sequence[Examples],
    corpus: Corpus,
    *,
    classes: int,
    kappa: float,
    vectors: EmbeddingTable | None,
    folder: Path | None,
    listener: Listener,
) -> LinearBag:
    """A LinearBag of words alone, fitted to the examples of train, the epoch chosen by those of dev.

    It learns from `vectors` as well where there are any. With a folder it is kept there until the run is finished
    (`discard`), so that a run that was killed need not fit it again.
    """
    train, dev = examples
    kept = folder / FOLDER if folder else None
    if kept:
        make_folder(kept)
    fit = FirstFit.of(LinearBag(classes=classes, features=(), vectors=vectors), corpus, kappa)
    settings = settings_of_first(examples, corpus, PRESETS["linear"], classes, kappa)
    bag = fit(train, dev, listener, folder=kept, settings=settings)
    assert isinstance(bag, LinearBag)
    return bag


def discard(folder: Path) -> None:
    """Remove what was kept of the bag."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


@torch.no_grad()
def begin_as(model: Network, bag: LinearBag, *, words: float) -> None:
    """Let the network start as the bag of the same vocabulary; texts have so many `words` on average."""
    classes = bag.config.classes
    weight = bag.weight[: len(bag.codes)]
    weight = weight - weight.mean(dim=1, keepdim=True)  # the same for every class tells nothing
    size = LARGEST / max(float(weight.abs().max()), 1e-12)
    model.embedding.weight[:, -classes:] = size * weight
    model.head.weight.zero_()
    model.head.bias.copy_(bag.bias)
    numbers = torch.arange(classes)
    if isinstance(model, BiLSTM):
        hidden, handed = model.config.hidden, float(torch.tensor(OPEN).sigmoid()) ** 2
        for direction, lstm in enumerate((model.forwards, model.backwards)):
            _hand_on(lstm, classes, hidden)
            model.head.weight[numbers, direction * hidden + numbers] = words**0.5 / (2 * handed * size)
        return
    first = model.convolutions[0]
    assert isinstance(first, torch.nn.Conv1d)
    assert first.bias is not None
    first.bias[:classes] = 0
    first.weight[:classes] = 0
    first.weight[numbers, first.in_channels - classes + numbers] = 1 / first.kernel_size[0]
    model.head.weight[numbers, numbers] = words**0.5 / size


def _hand_on(lstm: torch.nn.LSTM, classes: int, hidden: int) -> None:
    """The first units give what stands in the last coordinates of their input, and forget at once."""
    entering, recurrent = lstm.get_parameter("weight_ih_l0"), lstm.get_parameter("weight_hh_l0")
    for gate, bias in enumerate((OPEN, SHUT, 0.0, OPEN)):  # torch's order: input, forget, candidate, output
        units = gate * hidden + torch.arange(classes)
        entering[units] = 0
        recurrent[units] = 0
        lstm.get_parameter("bias_ih_l0")[units] = bias
        lstm.get_parameter("bias_hh_l0")[units] = 0
    candidates = torch.arange(classes)
    entering[2 * hidden + candidates, entering.shape[1] - classes + candidates] = 1
