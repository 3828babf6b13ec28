"""The texts of one search space, scored by a `TextClassifier`, by the query engine of its model; and their slopes.

A slope is how the lead of a label changes, to first order, when a word is replaced; registered for each kind of model.
Those of a sum are those of its parts, weighted. Of a network over word vectors they are its gradient times the
difference of the vectors (HotFlip, Ebrahimi et al. 2018); what a bag of words adds is exact; other models, such as a
bag of n-grams, have no gradient, and add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.attacks.queries.engine import (
    IdQuery,
    Ids,
    Neighbourhood,
    Query,
    QueryEngine,
    WordSwaps,
    as_probabilities,
    evaluating,
    query_engine,
    resolution_of,
)
from sgbt.attacks.space import SearchSpace, State
from sgbt.core.errors import AttackError
from sgbt.models import AnyModel, BagOfWords, Sum, TextClassifier
from sgbt.models.blueprint import parts_of
from sgbt.threats.vocabulary import UNKNOWN

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lead:
    """The logit of a label less that of its rival."""

    label: int
    rival: int


def require_vectors(model: Any) -> None:
    """Refuse a model of which no part is a network over word vectors: it has no gradient to search by."""
    if not any(hasattr(part, "from_vectors") for part in parts_of(model)):
        raise AttackError(
            expected="a model whose gradient by word vectors is known (TextCNN, BiLSTM, or a sum with one of them)",
            got=type(model).__name__,
            where="the attack gradient",
            remedy="use an attack that only asks for scores, such as greedy or pwws",
        )


@singledispatch
def slopes(model: Any, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    """Change of the lead [positions, choices] when `ids[i, c]` is put at position i of the text `chosen`.

    For a network with `embedding` and `from_vectors`: one pass back through it. Any other model has no gradient.
    """
    if not hasattr(model, "from_vectors"):
        return np.zeros(ids.shape)
    text = torch.from_numpy(chosen).unsqueeze(0)
    with torch.enable_grad():
        vectors = model.embedding(model.embedding.encode(text)).detach().requires_grad_()
        logits = model.from_vectors(vectors, torch.ones_like(text, dtype=torch.bool))[0]
        (gradient,) = torch.autograd.grad(logits[lead.label] - logits[lead.rival], vectors)
    distinct, places = np.unique(ids, return_inverse=True)
    table = model.embedding(model.embedding.encode(torch.from_numpy(distinct))).detach()
    along = gradient[0] @ table.t()  # [positions, distinct words]
    here = (gradient[0] * vectors.detach()[0]).sum(dim=1, keepdim=True)
    change: Array = along.gather(1, torch.from_numpy(places.reshape(ids.shape))).sub(here).double().numpy()
    return change


@slopes.register
def _of_sum(model: Sum, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    change: Array = np.sum([weight * slopes(part, ids, chosen, lead) for weight, part in model.terms], axis=0)
    return change


@slopes.register
def _of_bag_of_words(model: BagOfWords, ids: Ids, chosen: Ids, lead: Lead) -> Array:
    """Every swap is asked about."""
    places, choices = (each.reshape(-1) for each in np.indices(ids.shape))
    states = np.zeros((1, len(chosen)), np.int32)  # a bag of words looks at ids alone
    query = IdQuery(states, chosen[None], WordSwaps(np.zeros_like(places), places, choices), ids.reshape(-1))
    (answer,) = query_engine(model).answers([None], [query])
    moved = (answer.swaps - answer.texts[0]).reshape(*ids.shape, -1)
    change: Array = moved[..., lead.label] - moved[..., lead.rival]
    return change


def searched(classifier: TextClassifier) -> AnyModel:
    """The model that a search asks: as it is stored, for speed, but in half precision the one that decides.

    Whatever a search finds is shown to the classifier itself (`sgbt.attacks.campaign`).
    """
    single = all(weight.dtype in (torch.float32, torch.float64) for weight in classifier.model.parameters())
    return classifier.model if single else classifier.deciding


class ClassifierEngine:
    """Scores states as ids: `ids[i, c]` is what the model is shown for choice c at position i; the last column is
    what it is shown for a masked word, the unknown id. A text asked about in full is remembered. `exact` gives the
    engine of the model that decides, which `decide` goes over to.
    """

    def __init__(
        self,
        classifier: TextClassifier,
        space: SearchSpace,
        engine: QueryEngine,
        exact: Callable[[], QueryEngine] | None = None,
    ) -> None:
        self._model, self._engine = searched(classifier), engine
        self._classifier, self._exact = classifier, exact or (lambda: query_engine(classifier.deciding))
        self._resolution = resolution_of(self._model)
        widest = int(space.substitutes.max(initial=0)) + 2
        self._ids = np.full((len(space), widest), UNKNOWN, np.int64)
        for place, options in enumerate(space.options):
            self._ids[place, : len(options)] = classifier.vocabulary.encode(options)
        self._positions = np.arange(len(space))
        self._opened = engine.open(self._ids, len(space))
        self._known: dict[bytes, Array] = {}

    def decide(self) -> None:
        """From now on, answer in the arithmetic in which the classifier decides."""
        if self._model is not self._classifier.deciding:
            self._model, self._engine = self._classifier.deciding, self._exact()
            self._resolution = resolution_of(self._model)
            self._opened = self._engine.open(self._ids, len(self._positions))
            self._known.clear()

    def answer(self, query: Query) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        return ClassifierEngine.together([self], [query])[0]

    @staticmethod
    def together(engines: Sequence[ClassifierEngine], queries: Sequence[Query]) -> list[Neighbourhood]:
        """One answer per query, each from its own engine; all engines are of one classifier."""
        pairs = list(zip(engines, queries, strict=True))
        shorter = [engine._without_known(query) for engine, query in pairs]
        asked = [engine._in_ids(query) for engine, query in zip(engines, shorter, strict=True)]
        found = _by_engine(engines, asked)
        for engine, query, answer in zip(engines, shorter, found, strict=True):
            engine._known.update(zip(map(bytes, query.states), answer.texts, strict=True))
        return [engine._with_known(query, answer) for (engine, query), answer in zip(pairs, found, strict=True)]

    def _without_known(self, query: Query) -> Query:
        """The query without texts that are known or asked about twice, if it has no changes of them."""
        if len(query.swaps):
            return query
        new = {key: place for place, key in enumerate(map(bytes, query.states)) if key not in self._known}
        return Query(query.states[list(new.values())])

    def _with_known(self, query: Query, answer: Neighbourhood) -> Neighbourhood:
        if len(query.swaps) or not len(query.states):
            return answer
        return Neighbourhood(np.stack([self._known[bytes(state)] for state in query.states]), answer.swaps)

    def _in_ids(self, query: Query) -> IdQuery:
        new = self._ids[query.swaps.positions, query.swaps.choices]
        ids = self._ids[self._positions, query.states]
        return IdQuery(query.states, ids, query.swaps, new)

    @torch.no_grad()
    def slopes(self, state: State, label: int) -> Array:
        """First-order change of the label's lead when each choice is put in its place: [positions, choices].

        The lead is the label's logit less the greatest other one; the changes of a sum of models are those of its parts
        (`sgbt.attacks.queries.classifier`), so all swaps are judged by one pass back through the model.
        """
        require_vectors(self._model)
        chosen = self._ids[self._positions, state]
        with evaluating(self._model):
            logits = self._model(torch.from_numpy(chosen).unsqueeze(0))[0]
            others = logits.clone()
            others[label] = -torch.inf
            return slopes(self._model, self._ids, chosen, Lead(label, int(others.argmax())))


def _by_engine(engines: Sequence[ClassifierEngine], asked: Sequence[IdQuery]) -> list[Neighbourhood]:
    """Label probabilities: texts of one engine are answered at once, those that decide apart from the others."""
    found: dict[int, Neighbourhood] = {}
    for shared in {id(engine._engine): engine._engine for engine in engines}.values():
        places = [place for place, engine in enumerate(engines) if engine._engine is shared]
        answers = shared.answers([engines[place]._opened for place in places], [asked[place] for place in places])
        sizes = [len(each) for own in answers for each in (own.texts, own.swaps)]
        logits = np.concatenate([each for own in answers for each in (own.texts, own.swaps)])
        rows = np.split(as_probabilities(logits, engines[places[0]]._resolution), np.cumsum(sizes)[:-1])
        found.update(zip(places, map(Neighbourhood, rows[::2], rows[1::2]), strict=True))
    return [found[place] for place in range(len(engines))]
