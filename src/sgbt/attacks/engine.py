"""The query engine: the scores of "this text with these swaps", many at once, equal to the model's own.

An attack asks thousands of times about texts that differ in a word or two. Each kind of network has its own way to
reuse what those texts share (`FastNetwork`), and answers the questions of several attacks at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sgbt.attacks.space import State
from sgbt.models import Sum

Probabilities = NDArray[np.float64]
Ids = NDArray[np.int64]
Classify = Callable[[Sequence[str]], NDArray[np.floating]]
"""Any victim: texts in, one row of label probabilities per text out."""


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """One-word changes of some texts: text `owners[j]` with choice `choices[j]` at position `positions[j]`.

    Changes of one text stand together, in the order of the texts.
    """

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


def no_swaps() -> Swaps:
    """No change of any text."""
    return Swaps(*(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What an attack asks: the scores of some texts of its space, and of one-word changes of them."""

    states: State
    swaps: Swaps = field(default_factory=no_swaps)

    def __len__(self) -> int:
        return len(self.states) + len(self.swaps)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """What a model says of some texts [texts, labels], and of one-word changes of them [swaps, labels]."""

    texts: NDArray[Any]
    swaps: NDArray[Any]


class TextEngine(Protocol):
    """What a model says about the texts of one search space."""

    def answer(self, question: Question) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class IdQuestion:
    """A question in ids: texts [texts, words], changes of them, and the id that each change puts in.

    `states` are the same texts in choices: 0 where the word is the original one.
    """

    states: State
    ids: Ids
    swaps: Swaps
    new: Ids

    def changed(self) -> Ids:
        """The changed texts in full."""
        changed = self.ids[self.swaps.owners]
        changed[np.arange(len(changed)), self.swaps.positions] = self.new
        return changed


class FastNetwork(Protocol):
    """The fast way of one kind of network."""

    def open(self, ids: Ids, length: int) -> Any:
        """Prepare for texts of `length` words out of the given ids; what is returned stands for them in `answers`."""
        ...

    def answers(self, opened: Sequence[Any], questions: Sequence[IdQuestion]) -> list[Neighbourhood]:
        """Logits: one answer per question, each about the texts that the value beside it was opened for.

        An answer depends on its own question only, to the last bit, whatever is asked beside it.
        """
        ...


def as_probabilities(logits: NDArray[np.floating], resolution: int) -> Probabilities:
    """Softmax as `TextClassifier.predict` takes it, cut to the decimals that mean something."""
    exact = torch.from_numpy(np.ascontiguousarray(logits)).double().softmax(dim=1).numpy()
    return np.round(exact, resolution)


@singledispatch
def fast_network(model: Any) -> FastNetwork:
    """The fast way of a network, registered beside its implementation; any other model is asked in the plain way."""
    return PlainNetwork(model)


@dataclass(frozen=True, slots=True)
class PlainNetwork:
    """A model that has no fast way, asked about distinct texts only."""

    model: nn.Module

    def open(self, ids: Ids, length: int) -> None:
        """Nothing is prepared."""

    def answers(self, opened: Sequence[Any], questions: Sequence[IdQuestion]) -> list[Neighbourhood]:
        """The model's own logits."""
        return [self._answer(question) for question in questions]

    @torch.no_grad()
    def _answer(self, question: IdQuestion) -> Neighbourhood:
        rows, found = np.unique(np.concatenate([question.ids, question.changed()]), axis=0, return_inverse=True)
        training = self.model.training
        self.model.eval()
        try:
            starts = range(0, max(len(rows), 1), 256)  # no text at all is a batch as well
            pieces = [self.model(torch.from_numpy(rows[at : at + 256])) for at in starts]
        finally:
            self.model.train(training)
        logits = torch.cat(pieces).numpy()[found.reshape(-1)]
        return Neighbourhood(logits[: len(question.ids)], logits[len(question.ids) :])


@dataclass(frozen=True, slots=True)
class SumOfNetworks:
    """Networks whose logits are added, each times its weight."""

    parts: Sequence[FastNetwork]
    weights: Sequence[float]

    def open(self, ids: Ids, length: int) -> Any:
        """What every part opens."""
        return [part.open(ids, length) for part in self.parts]

    def answers(self, opened: Sequence[Any], questions: Sequence[IdQuestion]) -> list[Neighbourhood]:
        """The sums of the parts' logits."""
        found = [part.answers([own[place] for own in opened], questions) for place, part in enumerate(self.parts)]
        return [
            Neighbourhood(
                np.sum(self._weighted([answer.texts for answer in answers]), axis=0),
                np.sum(self._weighted([answer.swaps for answer in answers]), axis=0),
            )
            for answers in zip(*found, strict=True)
        ]

    def _weighted(self, logits: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """As the model does: logits of weight one as they are, others times their weight in float64."""
        pairs = zip(self.weights, logits, strict=True)
        return [own if weight == 1 else np.float64(weight) * own for weight, own in pairs]


@fast_network.register
def _of_sum(model: Sum) -> FastNetwork:
    weights, parts = zip(*model.terms, strict=True)
    return SumOfNetworks([fast_network(part) for part in parts], weights)


def resolution_of(model: nn.Module) -> int:
    """Six decimals for a model whose first weights are float32, nine for float64."""
    return 9 if next(model.parameters()).dtype == torch.float64 else 6
