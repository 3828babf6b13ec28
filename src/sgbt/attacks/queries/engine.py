"""The query engine: the scores of "this text with these swaps", many at once, equal to the model's own.

An attack asks thousands of times about texts that differ in a word or two. Each kind of model has its own way to reuse
what those texts share, a `QueryEngine` registered with `query_engine` beside its implementation.

The texts of one search space, scored by any callable: each distinct text is asked about once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sgbt.attacks.space import MASKED, SearchSpace, State
from sgbt.core.errors import AttackError
from sgbt.data.tokenizer import Tokens
from sgbt.models import Sum

Probabilities = NDArray[np.float64]
Ids = NDArray[np.int64]
Classify = Callable[[Sequence[str]], NDArray[np.floating]]
"""Any victim: texts in, one row of label probabilities per text out."""


@dataclass(frozen=True, slots=True, eq=False)
class WordSwaps:
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


NO_SWAPS = WordSwaps(*(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What an attack asks: the scores of some texts of its space, and of one-word changes of them."""

    states: State
    swaps: WordSwaps = NO_SWAPS

    def __len__(self) -> int:
        return len(self.states) + len(self.swaps)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """What a model says of some texts [texts, labels], and of one-word changes of them [swaps, labels]."""

    texts: NDArray[Any]
    swaps: NDArray[Any]


class TextEngine(Protocol):
    """What a model says about the texts of one search space."""

    def answer(self, query: Query) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class IdQuery:
    """A query in ids: texts [texts, words], changes of them, and the id that each change puts in.

    `states` are the same texts in choices: 0 where the word is the original one.
    """

    states: State
    ids: Ids
    swaps: WordSwaps
    new: Ids

    def changed(self) -> Ids:
        """The changed texts in full."""
        changed = self.ids[self.swaps.owners]
        changed[np.arange(len(changed)), self.swaps.positions] = self.new
        return changed


class QueryEngine(Protocol):
    """Logits of many variants of texts, from one model."""

    def open(self, ids: Ids, length: int) -> Any:
        """Prepare for texts of `length` words out of the given ids; what is returned stands for them in `answers`."""
        ...

    def answers(self, opened: Sequence[Any], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """Logits: one answer per query, each about the texts that the value beside it was opened for.

        An answer depends on its own query only, to the last bit, whatever is asked beside it.
        """
        ...


def as_probabilities(logits: NDArray[np.floating], resolution: int) -> Probabilities:
    """Softmax as `TextClassifier.predict` takes it, cut to the decimals that mean something."""
    exact = torch.from_numpy(np.ascontiguousarray(logits)).double().softmax(dim=1).numpy()
    return np.round(exact, resolution)


@singledispatch
def query_engine(model: Any) -> QueryEngine:
    """The query engine of a model; other kinds of models are run on every text of a query."""
    return PlainEngine(model)


@dataclass(frozen=True, slots=True)
class PlainEngine:
    """A model asked in full, about distinct texts only."""

    model: nn.Module

    def open(self, ids: Ids, length: int) -> None:
        """Nothing is prepared."""

    def answers(self, opened: Sequence[Any], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """The model's own logits."""
        return [self._answer(query) for query in queries]

    @torch.no_grad()
    def _answer(self, query: IdQuery) -> Neighbourhood:
        rows, found = np.unique(np.concatenate([query.ids, query.changed()]), axis=0, return_inverse=True)
        with evaluating(self.model):
            starts = range(0, max(len(rows), 1), 256)  # no text at all is a batch as well
            logits = torch.cat([self.model(torch.from_numpy(rows[at : at + 256])) for at in starts])
        return split_answer(logits.numpy()[found.reshape(-1)], query)


@dataclass(frozen=True, slots=True)
class SumEngine:
    """The weighted sum of several models' logits."""

    parts: Sequence[QueryEngine]
    weights: Sequence[float]

    def open(self, ids: Ids, length: int) -> Any:
        """What every part opens."""
        return [part.open(ids, length) for part in self.parts]

    def answers(self, opened: Sequence[Any], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """The sums of the parts' logits."""
        found = [part.answers([own[place] for own in opened], queries) for place, part in enumerate(self.parts)]
        return [self._added(answers) for answers in zip(*found, strict=True)]

    def _added(self, answers: Sequence[Neighbourhood]) -> Neighbourhood:
        pairs = list(zip(self.weights, answers, strict=True))
        texts, swaps = (
            np.sum([values if weight == 1 else np.float64(weight) * values for weight, values in own], axis=0)
            for own in ([(w, each.texts) for w, each in pairs], [(w, each.swaps) for w, each in pairs])
        )
        return Neighbourhood(texts, swaps)


@query_engine.register
def _of_sum(model: Sum) -> QueryEngine:
    weights, parts = zip(*model.terms, strict=True)
    return SumEngine([query_engine(part) for part in parts], weights)


def split_answer(logits: NDArray[Any], query: IdQuery) -> Neighbourhood:
    """Logits of the texts asked about and of the changed texts after them."""
    return Neighbourhood(logits[: len(query.ids)], logits[len(query.ids) :])


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Dropout is off while this lasts."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def resolution_of(model: nn.Module) -> int:
    """Six decimals for a model whose first weights are float32, nine for float64."""
    return 9 if next(model.parameters()).dtype == torch.float64 else 6


BATCH = 256
RESOLUTION = 6
"""Decimals of a probability that mean something: differences below are rounding, and count as none."""
MASK_WORD = "unk"
"""What stands for a masked word in a text that is shown to a victim whose unknown id is out of reach: one word."""


class CallableEngine:
    """Scores states as texts, in batches without repetitions, and remembers every answer."""

    def __init__(self, classify: Classify, space: SearchSpace, tokens: Tokens) -> None:
        self._classify, self._space, self._tokens = classify, space, tokens
        self._known: dict[str, Probabilities] = {}

    def answer(self, query: Query) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        return CallableEngine.together([self], [query])[0]

    @staticmethod
    def together(engines: Sequence[CallableEngine], queries: Sequence[Query]) -> list[Neighbourhood]:
        """One answer per query, each from its own engine; all engines are of one callable."""
        texts = [
            [engine._written(state) for state in (*query.states, *query.swaps.applied(query.states))]
            for engine, query in zip(engines, queries, strict=True)
        ]
        new = [text for engine, own in zip(engines, texts, strict=True) for text in own if text not in engine._known]
        asked = list(dict.fromkeys(new))
        found: dict[str, Probabilities] = {}
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            rows = checked_answer(engines[0]._classify(batch), len(batch)).round(RESOLUTION)
            found.update(zip(batch, rows, strict=True))
        answers = []
        for engine, query, own in zip(engines, queries, texts, strict=True):
            engine._known.update((text, found[text]) for text in own if text in found)
            rows = np.stack([engine._known[text] for text in own])
            answers.append(Neighbourhood(rows[: len(query.states)], rows[len(query.states) :]))
        return answers

    def _written(self, state: State) -> str:
        """The state as a text of as many words; what cannot be written changes nothing, so it breaks nothing."""
        swaps = dict(self._space.changes(np.where(state == MASKED, 0, state)))
        swaps |= {int(place): MASK_WORD for place in np.flatnonzero(state == MASKED)}
        text = self._tokens.written(swaps)
        return self._tokens.text if text is None else text


def checked_answer(answer: object, texts: int) -> Probabilities:
    """A victim's answer as probabilities, or what is wrong with it."""
    try:
        rows = np.asarray(answer, dtype=np.float64)
    except (ValueError, TypeError):
        rows = np.zeros(0)  # labels, or rows of unlike length
    if rows.ndim != 2 or len(rows) != texts or rows.shape[1] < 2 or not np.isfinite(rows).all():
        raise AttackError(
            expected=f"one row of label probabilities for each of {texts} texts",
            got=f"an array of shape {rows.shape}" if np.isfinite(rows).all() else "values that are not finite",
            where="the answer of the model",
            remedy="pass a callable such as pipeline.predict_proba",
        )
    return rows
