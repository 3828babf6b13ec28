"""The texts of one search space, scored by a `TextClassifier`, in the fast way of its network if there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.attacks.engine import (
    Neighbourhood,
    Probabilities,
    Swaps,
    as_probabilities,
    fast_network,
    resolution_of,
)
from sgbt.attacks.space import SearchSpace, State
from sgbt.errors import AttackError
from sgbt.lexicon.vocabulary import UNKNOWN
from sgbt.models import AnyModel, BiLSTM, TextClassifier, TextCNN, TwoChannel

Array = NDArray[Any]


class ClassifierEngine:
    """Scores states as ids: `ids[i, c]` is what the model is shown for choice c at position i; the last column is
    what it is shown for a masked word, the unknown id.
    """

    def __init__(self, classifier: TextClassifier, space: SearchSpace) -> None:
        self._model = classifier.model
        self.resolution = resolution_of(classifier)
        widest = int(space.substitutes.max(initial=0)) + 2
        self._ids = np.full((len(space), widest), UNKNOWN, np.int64)
        for place, options in enumerate(space.options):
            self._ids[place, : len(options)] = classifier.vocabulary.encode(options)
        distinct, places = np.unique(self._ids, return_inverse=True)
        self._distinct, self._places = distinct, places.reshape(self._ids.shape)
        self._positions = np.arange(len(space))
        self._fast = fast_network(self._model, distinct, len(space))

    def probabilities(self, states: State) -> Probabilities:
        """Label probabilities of texts given in full."""
        if self._fast is None:
            return as_probabilities(self._plain(self._ids[self._positions, states]), self.resolution)
        return as_probabilities(self._fast.logits(self._places[self._positions, states]), self.resolution)

    def neighbourhood(self, states: State, swaps: Swaps) -> Neighbourhood:
        """Label probabilities of texts and of one-word changes of them."""
        if self._fast is None:
            return Neighbourhood(self.probabilities(states), self.probabilities(swaps.applied(states)))
        places = self._places[self._positions, states]
        new = self._places[swaps.positions, swaps.choices]
        logits = self._fast.neighbourhood(places, swaps, new)
        return Neighbourhood(
            as_probabilities(logits.texts, self.resolution), as_probabilities(logits.swaps, self.resolution)
        )

    def slopes(self, state: State, label: int) -> Array:
        """First-order change of the label's lead when each choice is put in its place: [positions, choices].

        The lead is the label's logit less the greatest other one; the change is its gradient times the difference of
        the word vectors, so all swaps are judged by one pass back through the model.
        """
        parts = _vector_parts(self._model)
        ids = torch.from_numpy(self._ids[self._positions, state]).unsqueeze(0)
        mask = torch.ones_like(ids, dtype=torch.bool)
        training = self._model.training
        self._model.eval()
        try:
            with torch.enable_grad():
                vectors = [part.embedding(part.embedding.encode(ids)).detach().requires_grad_() for part in parts]
                terms = [part.from_vectors(own, mask) for part, own in zip(parts, vectors, strict=True)]
                logits = torch.stack(terms).sum(dim=0)[0]
                others = logits.clone()
                others[label] = -torch.inf
                gradients = torch.autograd.grad(logits[label] - others.max(), vectors)
        finally:
            self._model.train(training)
        change = np.zeros(self._ids.shape)
        with torch.no_grad():
            for part, own, gradient in zip(parts, vectors, gradients, strict=True):
                table = part.embedding(part.embedding.encode(torch.from_numpy(self._distinct)))
                along = gradient[0] @ table.t()  # [positions, distinct words]
                here = (gradient[0] * own[0]).sum(dim=1, keepdim=True)
                change += along.gather(1, torch.from_numpy(self._places)).sub(here).double().numpy()
        return change

    @torch.no_grad()
    def _plain(self, ids: Array) -> Array:
        """The model itself, asked about distinct texts only."""
        rows, found = np.unique(ids, axis=0, return_inverse=True)
        training = self._model.training
        self._model.eval()
        try:
            pieces = [self._model(torch.from_numpy(rows[at : at + 256])) for at in range(0, len(rows), 256)]
        finally:
            self._model.train(training)
        logits: Array = torch.cat(pieces).numpy()[found.reshape(-1)]
        return logits


def _vector_parts(model: AnyModel) -> list[TextCNN | BiLSTM]:
    if isinstance(model, TwoChannel):
        return list(model.parts)
    if isinstance(model, TextCNN | BiLSTM):
        return [model]
    raise AttackError(
        wanted="a model whose gradient by word vectors is known (TextCNN, BiLSTM or TwoChannel)",
        got=type(model).__name__,
        where="the attack gradient",
        remedy="use an attack that only asks for scores, such as greedy or pwws",
    )
