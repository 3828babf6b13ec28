"""The texts of one search space, scored by a `TextClassifier`, in the fast way of its network if there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.attacks import bag_engine, bilstm_engine, cnn_engine  # noqa: F401  their fast ways are registered
from sgbt.attacks.engine import (
    FastNetwork,
    IdQuestion,
    Neighbourhood,
    Question,
    Swaps,
    as_probabilities,
    fast_network,
    resolution_of,
)
from sgbt.attacks.space import SearchSpace, State
from sgbt.core.errors import AttackError
from sgbt.models import AnyModel, BagOfWords, BiLSTM, Sum, TextClassifier, TextCNN
from sgbt.threats.vocabulary import UNKNOWN

Array = NDArray[Any]


def searched(classifier: TextClassifier) -> AnyModel:
    """The model that a search asks: as it is stored, for speed, but in half precision the one that decides.

    Whatever a search finds is shown to the classifier itself (`sgbt.attacks.check`).
    """
    single = all(weight.dtype in (torch.float32, torch.float64) for weight in classifier.model.parameters())
    return classifier.model if single else classifier.deciding


class ClassifierEngine:
    """Scores states as ids: `ids[i, c]` is what the model is shown for choice c at position i; the last column is
    what it is shown for a masked word, the unknown id. A text asked about in full is remembered. `exact` gives the fast
    way of the model that decides, which `decide` goes over to.
    """

    def __init__(
        self,
        classifier: TextClassifier,
        space: SearchSpace,
        network: FastNetwork,
        exact: Callable[[], FastNetwork] | None = None,
    ) -> None:
        self._model, self._network = searched(classifier), network
        self._classifier, self._exact = classifier, exact or (lambda: fast_network(classifier.deciding))
        self._resolution = resolution_of(self._model)
        widest = int(space.substitutes.max(initial=0)) + 2
        self._ids = np.full((len(space), widest), UNKNOWN, np.int64)
        for place, options in enumerate(space.options):
            self._ids[place, : len(options)] = classifier.vocabulary.encode(options)
        self._positions = np.arange(len(space))
        self._opened = network.open(self._ids, len(space))
        self._known: dict[bytes, Array] = {}

    def decide(self) -> None:
        """From now on, answer in the arithmetic in which the classifier decides."""
        if self._model is not self._classifier.deciding:
            self._model, self._network = self._classifier.deciding, self._exact()
            self._resolution = resolution_of(self._model)
            self._opened = self._network.open(self._ids, len(self._positions))
            self._known.clear()

    def answer(self, question: Question) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        return ClassifierEngine.together([self], [question])[0]

    @staticmethod
    def together(engines: Sequence[ClassifierEngine], questions: Sequence[Question]) -> list[Neighbourhood]:
        """One answer per question, each from its own engine; all engines are of one classifier."""
        pairs = list(zip(engines, questions, strict=True))
        shorter = [engine._without_known(question) for engine, question in pairs]
        asked = [engine._in_ids(question) for engine, question in zip(engines, shorter, strict=True)]
        found = _by_network(engines, asked)
        for engine, question, answer in zip(engines, shorter, found, strict=True):
            engine._known.update(zip(map(bytes, question.states), answer.texts, strict=True))
        return [engine._with_known(question, answer) for (engine, question), answer in zip(pairs, found, strict=True)]

    def _without_known(self, question: Question) -> Question:
        """The question without texts that are known or asked about twice, if it has no changes of them."""
        if len(question.swaps):
            return question
        new = {key: place for place, key in enumerate(map(bytes, question.states)) if key not in self._known}
        return Question(question.states[list(new.values())])

    def _with_known(self, question: Question, answer: Neighbourhood) -> Neighbourhood:
        if len(question.swaps) or not len(question.states):
            return answer
        return Neighbourhood(np.stack([self._known[bytes(state)] for state in question.states]), answer.swaps)

    def _in_ids(self, question: Question) -> IdQuestion:
        new = self._ids[question.swaps.positions, question.swaps.choices]
        ids = self._ids[self._positions, question.states]
        return IdQuestion(question.states, ids, question.swaps, new)

    def slopes(self, state: State, label: int) -> Array:
        """First-order change of the label's lead when each choice is put in its place: [positions, choices].

        The lead is the label's logit less the greatest other one; the change is its gradient times the difference of
        the word vectors, so all swaps are judged by one pass back through the model. What a BagOfWords beside a network
        adds is exact; of a BagOfNgrams there is no gradient, and only what it says of the text counts.
        """
        parts, beside = _vector_parts(self._model), _other_parts(self._model)
        ids = torch.from_numpy(self._ids[self._positions, state]).unsqueeze(0)
        mask = torch.ones_like(ids, dtype=torch.bool)
        training = self._model.training
        self._model.eval()
        try:
            with torch.enable_grad():
                vectors = [part.embedding(part.embedding.encode(ids)).detach().requires_grad_() for _, part in parts]
                terms = [
                    weight * part.from_vectors(own, mask) for (weight, part), own in zip(parts, vectors, strict=True)
                ]
                fixed = [weight * bag(ids, mask).detach().to(terms[0]) for weight, bag in beside]
                logits = torch.stack([*terms, *fixed]).sum(dim=0)[0]
                others = logits.detach().clone()
                others[label] = -torch.inf
                rival = int(others.argmax())
                gradients = torch.autograd.grad(logits[label] - logits[rival], vectors)
        finally:
            self._model.train(training)
        distinct, places = np.unique(self._ids, return_inverse=True)
        places = places.reshape(self._ids.shape)
        change = np.zeros(self._ids.shape)
        with torch.no_grad():
            for (_, part), own, gradient in zip(parts, vectors, gradients, strict=True):
                table = part.embedding(part.embedding.encode(torch.from_numpy(distinct)))
                along = gradient[0] @ table.t()  # [positions, distinct words]
                here = (gradient[0] * own[0]).sum(dim=1, keepdim=True)
                change += along.gather(1, torch.from_numpy(places)).sub(here).double().numpy()
        for weight, bag in beside:
            if isinstance(bag, BagOfWords):
                moved = weight * self._moved(bag, state)
                change += moved[..., label] - moved[..., rival]
        return change

    def _moved(self, bag: BagOfWords, state: State) -> Array:
        """How each choice in its place changes the logits of a bag: [positions, choices, classes]."""
        states, width = state[None], self._ids.shape[1]
        positions = np.repeat(self._positions, width)
        swaps = Swaps(np.zeros_like(positions), positions, np.tile(np.arange(width), len(self._positions)))
        question = IdQuestion(states, self._ids[self._positions, states], swaps, self._ids.reshape(-1))
        (answer,) = fast_network(bag).answers([None], [question])
        change: Array = (answer.swaps - answer.texts[0]).reshape(*self._ids.shape, -1)
        return change


def _by_network(engines: Sequence[ClassifierEngine], asked: Sequence[IdQuestion]) -> list[Neighbourhood]:
    """Label probabilities: engines of one network are answered at once, those that decide apart from the others."""
    found: dict[int, Neighbourhood] = {}
    for network in {id(engine._network): engine._network for engine in engines}.values():
        places = [place for place, engine in enumerate(engines) if engine._network is network]
        answers = network.answers([engines[place]._opened for place in places], [asked[place] for place in places])
        for place, own in zip(places, answers, strict=True):
            texts, swaps = (as_probabilities(each, engines[place]._resolution) for each in (own.texts, own.swaps))
            found[place] = Neighbourhood(texts, swaps)
    return [found[place] for place in range(len(engines))]


def _other_parts(model: AnyModel) -> list[tuple[float, AnyModel]]:
    """The parts of a sum that have no word vectors, with their weights."""
    terms = model.terms if isinstance(model, Sum) else []
    return [(weight, part) for weight, part in terms if not isinstance(part, TextCNN | BiLSTM)]


def _vector_parts(model: AnyModel) -> list[tuple[float, TextCNN | BiLSTM]]:
    terms = model.terms if isinstance(model, Sum) else [(1.0, model)]
    found = [(weight, part) for weight, part in terms if isinstance(part, TextCNN | BiLSTM)]
    if found:
        return found
    raise AttackError(
        wanted="a model whose gradient by word vectors is known (TextCNN, BiLSTM or a Sum with one)",
        got=type(model).__name__,
        where="the attack gradient",
        remedy="use an attack that only asks for scores, such as greedy or pwws",
    )
