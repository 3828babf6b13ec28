"""The query engine: the scores of "this text with these swaps", many at once, equal to the model's own.

An attack asks thousands of times about texts that differ in a word or two. Each kind of model has its own way to reuse
what those texts share; all of them answer through one method, `TextEngine.logits`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sgbt.attacks.space import State
from sgbt.models import BiLSTM, TextClassifier, TextCNN, TwoChannel

Probabilities = NDArray[np.float64]
Classify = Callable[[Sequence[str]], NDArray[np.floating]]
"""Any victim: texts in, one row of label probabilities per text out."""


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """One-word changes of some texts: text `owners[j]` with choice `choices[j]` at position `positions[j]`."""

    owners: NDArray[np.int64]
    positions: NDArray[np.int64]
    choices: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.owners)

    def applied(self, states: State) -> State:
        """The changed texts in full."""
        changed = states[self.owners]
        changed[np.arange(len(changed)), self.positions] = self.choices
        return changed


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """What a model says of some texts [texts, labels], and of one-word changes of them [swaps, labels]."""

    texts: NDArray[Any]
    swaps: NDArray[Any]


class TextEngine(Protocol):
    """What a model says about the texts of one search space."""

    resolution: int
    """Decimals of a probability that mean something: differences below are rounding, and count as none."""

    def probabilities(self, states: State) -> Probabilities:
        """Label probabilities [texts, labels] of texts given in full."""
        ...

    def neighbourhood(self, states: State, swaps: Swaps) -> Neighbourhood:
        """Label probabilities of the given texts and of one-word changes of them."""
        ...


class FastNetwork(Protocol):
    """The fast way of one kind of network: logits of texts whose words are rows of a list of distinct words."""

    def logits(self, places: NDArray[np.int64]) -> NDArray[np.floating]:
        """Logits of texts in full; `places` [texts, words] says which distinct word stands where."""
        ...

    def neighbourhood(self, places: NDArray[np.int64], swaps: Swaps, new: NDArray[np.int64]) -> Neighbourhood:
        """Logits of texts and of one-word changes of them; `new` says which distinct word each change puts there."""
        ...


def as_probabilities(logits: NDArray[np.floating], resolution: int) -> Probabilities:
    """Softmax as `TextClassifier.predict` takes it, cut to the decimals that mean something."""
    exact = torch.from_numpy(np.ascontiguousarray(logits)).float().double().softmax(dim=1).numpy()
    return np.round(exact, resolution)


def fast_network(model: nn.Module, distinct: NDArray[np.int64], length: int) -> FastNetwork | None:
    """The fast way of a network over the given distinct ids, for texts of `length` words; None if it has none."""
    from sgbt.attacks.bilstm_engine import FastBiLSTM
    from sgbt.attacks.cnn_engine import FastCNN

    if isinstance(model, TextCNN):
        return FastCNN(model, distinct, length)
    if isinstance(model, BiLSTM):
        return FastBiLSTM(model, distinct, length)
    if isinstance(model, TwoChannel):
        parts = [fast_network(part, distinct, length) for part in model.parts]
        return SumOfNetworks([part for part in parts if part is not None])
    return None


@dataclass(frozen=True, slots=True)
class SumOfNetworks:
    """Networks whose logits are added."""

    parts: Sequence[FastNetwork]

    def logits(self, places: NDArray[np.int64]) -> NDArray[np.floating]:
        """The sum of the parts' logits."""
        return np.sum([part.logits(places) for part in self.parts], axis=0)

    def neighbourhood(self, places: NDArray[np.int64], swaps: Swaps, new: NDArray[np.int64]) -> Neighbourhood:
        """The sum of the parts' logits."""
        found = [part.neighbourhood(places, swaps, new) for part in self.parts]
        texts, changed = (np.sum([getattr(part, name) for part in found], axis=0) for name in ("texts", "swaps"))
        return Neighbourhood(texts, changed)


def resolution_of(classifier: TextClassifier) -> int:
    """Six decimals for float32 weights, nine for float64."""
    return 9 if next(classifier.model.parameters()).dtype == torch.float64 else 6
