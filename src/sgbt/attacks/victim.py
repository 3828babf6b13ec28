"""Victims: what an attack needs to know of a model, whatever kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sgbt.attacks.edits.space import ThreatEngine, ThreatSpace
from sgbt.attacks.queries import query_engine
from sgbt.attacks.queries.classifier import ClassifierEngine, searched
from sgbt.attacks.queries.engine import (
    CallableEngine,
    Classify,
    Neighbourhood,
    Probabilities,
    Query,
    QueryEngine,
    TextEngine,
    checked_answer,
)
from sgbt.attacks.space import SearchSpace
from sgbt.core.errors import AttackError
from sgbt.data import Tokenizer
from sgbt.data.tokenizer import Tokens
from sgbt.models import TextClassifier


class Victim(Protocol):
    """A model under attack: how it reads a text, what it says, and how to ask it about many variants fast."""

    tokenizer: Tokenizer
    max_length: int | None
    """How many words are read."""

    @property
    def fingerprint(self) -> str:
        """What distinguishes this model from others: rows of two are never mixed; refused where nothing does."""
        ...

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """The model's own answer: label probabilities [texts, labels]."""
        ...

    def open(self, tokens: Tokens, space: SearchSpace) -> TextEngine:
        """An engine for the variants of one text."""
        ...

    def answers(self, engines: Sequence[Any], queries: Sequence[Query]) -> list[Neighbourhood]:
        """One answer per query, each from the engine of its text; what they share is computed once."""
        ...


class ClassifierVictim:
    """A `TextClassifier`."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier
        self.tokenizer: Tokenizer = classifier.tokenizer
        self.max_length: int | None = classifier.max_length

    @property
    def fingerprint(self) -> str:
        """Its identity."""
        return self.classifier.identity

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """What `predict` says."""
        return self.classifier.predict(texts).probabilities

    def open(self, tokens: Tokens, space: SearchSpace) -> TextEngine:
        """The engine of its kind of model; texts of any threat are read from their strings."""
        if isinstance(space, ThreatSpace):
            return ThreatEngine(self.probabilities, space)
        return ClassifierEngine(self.classifier, space, self._engine, lambda: self._exact)

    def answers(self, engines: Sequence[Any], queries: Sequence[Query]) -> list[Neighbourhood]:
        """All queries side by side; the engines are of one kind."""
        found: list[Neighbourhood] = type(engines[0]).together(engines, queries)
        return found

    @cached_property
    def _engine(self) -> QueryEngine:
        return query_engine(searched(self.classifier))

    @cached_property
    def _exact(self) -> QueryEngine:
        return query_engine(self.classifier.deciding)


class CallableVictim:
    """Any callable from texts to label probabilities.

    `fingerprint` is what rows call it. A callable that knows its own, or whose object does, has it as an attribute of
    that name: a text, or a method that gives one.
    """

    def __init__(
        self,
        classify: Classify,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.classify, self.tokenizer, self.max_length = classify, tokenizer or Tokenizer(), max_length
        self._stated = None if fingerprint is None else _fingerprint(fingerprint)

    @property
    def fingerprint(self) -> str:
        """What was given, or else what the callable says of itself."""
        if self._stated is not None:
            return self._stated
        for holder in (self.classify, getattr(self.classify, "__self__", None)):
            stated = getattr(holder, "fingerprint", None)
            if stated is not None:
                return _fingerprint(stated() if callable(stated) else stated)
        return _fingerprint(None)

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """What the callable says."""
        return checked_answer(self.classify(texts), len(texts)) if len(texts) else np.zeros((0, 2))

    def open(self, tokens: Tokens, space: SearchSpace) -> TextEngine:
        """Batches without repetitions, and a cache."""
        if isinstance(space, ThreatSpace):
            return ThreatEngine(self.classify, space)
        return CallableEngine(self.classify, space, tokens)

    def answers(self, engines: Sequence[CallableEngine], queries: Sequence[Query]) -> list[Neighbourhood]:
        """All queries in common batches."""
        return CallableEngine.together(engines, queries)


def _fingerprint(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise AttackError(
            expected="a fingerprint, a text that tells this callable from others",
            got="none" if given is None else repr(given)[:60],
            where="the callable to attack",
            remedy='say which model it is, with its version, as in fingerprint="reviews 3", to keep rows of it',
        )
    return given


def victim_of(model: TextClassifier | Classify | Victim, *, fingerprint: str | None = None) -> Victim:
    """The victim that a user's value stands for; `fingerprint` is what rows call a bare callable."""
    known = isinstance(model, ClassifierVictim | CallableVictim | TextClassifier)
    if known and fingerprint is not None:
        raise AttackError(
            expected="a fingerprint for a bare callable alone",
            got=f"one for a {type(model).__name__}, which has its own",
            remedy="leave it out",
        )
    if isinstance(model, ClassifierVictim | CallableVictim):
        return model
    if isinstance(model, TextClassifier):
        return ClassifierVictim(model)
    if callable(model):
        return CallableVictim(model, fingerprint=fingerprint)
    raise AttackError(
        expected="a TextClassifier, or a callable from texts to label probabilities",
        got=type(model).__name__,
        where="the model to attack",
        remedy="see sgbt.load_classifier",
    )
