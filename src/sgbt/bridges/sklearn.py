"""scikit-learn pipelines over encoded text: the encoder as a step, and certificates of what follows it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import vstack
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sgbt.bridges.linear_pipelines import additive_of, linear_weights
from sgbt.certify.black_box import (
    AnyEncoder,
    EncodedCertificate,
    Encoder,
    Trade,
    certify_encoded,
)
from sgbt.certify.black_box.encoder import DISTINCTION, RELEVANCE
from sgbt.certify.black_box.fitting import fit_encoder, fit_traded


class SynonymEncoder(TransformerMixin, BaseEstimator):
    """Text in, text out: every word becomes the most frequent word of its synonym cluster.

    `threat` is a `Threat`, a substitution table, or what the command line takes: "counter_fitted", "wordnet+sememes",
    "typos:1", "counter_fitted + typos:1". Models that follow in a pipeline read encoded text alone, so `certified` can
    prove what the threat cannot change. The fitted `encoder_` is a value that is written to JSON and read again. With
    `trade`, a share of accuracy, `distinction` is chosen by what a proxy loses on train
    (`sgbt.certify.black_box.fitting`); `trade_` reports it.
    """

    def __init__(
        self,
        threat: Any = "counter_fitted",
        *,
        distinction: float = DISTINCTION,
        relevance: float = RELEVANCE,
        trade: float | None = None,
    ):
        self.threat = threat
        self.distinction = distinction
        self.relevance = relevance
        self.trade = trade

    def fit(self, X: Sequence[str], y: Sequence[Any] | None = None) -> SynonymEncoder:
        """Choose clusters for texts like these; where labels are given, by what words say about them."""
        self.encoder_, self.trade_ = _fitted(self, _texts(X), _labels(y))
        return self

    def transform(self, X: Sequence[str]) -> list[str]:
        """The encoded texts."""
        check_is_fitted(self, "encoder_")
        return [self.encoder_.encode(text) for text in _texts(X)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class CertifiedClassifier(ClassifierMixin, BaseEstimator):
    """Any scikit-learn classifier of texts, trained on encoded text and certified on it.

    With `rounds`, a linear classifier of n-grams is trained again so many times, each time with every text's worst
    choices under the one before as further texts: it then relies less on what an adversary can choose. The n-grams and
    their weights by document frequency stay those of the encoded texts.
    """

    def __init__(
        self,
        estimator: Any,
        threat: Any = "counter_fitted",
        *,
        distinction: float = DISTINCTION,
        relevance: float = RELEVANCE,
        trade: float | None = None,
        rounds: int = 0,
    ):
        self.estimator = estimator
        self.threat = threat
        self.distinction = distinction
        self.relevance = relevance
        self.trade = trade
        self.rounds = rounds

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> CertifiedClassifier:
        """Choose clusters, then train a copy of the estimator on encoded text."""
        texts = _texts(X)
        self.encoder_, self.trade_ = _fitted(self, texts, _labels(y))
        read = [self.encoder_.read(text) for text in texts]
        labels = np.asarray(y)
        self.estimator_ = clone(self.estimator).fit([each.written() for each in read], labels)
        self.classes_ = self.estimator_.classes_
        if self.rounds:
            self._train_on_worst_choices(read, labels)
        return self

    def _train_on_worst_choices(self, read: Sequence[Any], labels: np.ndarray) -> None:
        """Train the classifier again, each time with the worst choices under the one before; n-grams stay the same."""
        numbers, features = np.searchsorted(self.classes_, labels).tolist(), []
        for trained_before in range(self.rounds):
            additive = additive_of(self.estimator_)
            if additive is None or not isinstance(self.encoder_, Encoder):
                raise ValueError(
                    "rounds needs a pipeline of word counts and a linear classifier, and substitutions; leave it 0"
                )
            *steps, (name, classifier) = self.estimator_.steps
            count = Pipeline(steps).transform
            if not trained_before:
                features.append(count([each.written() for each in read]))
            worst = (each.written(additive.worst(each, k).swaps) for each, k in zip(read, numbers, strict=True))
            features.append(count(worst))
            trained = clone(classifier).fit(vstack(features), np.tile(labels, len(features)))
            self.estimator_ = Pipeline([*steps, (name, trained)])

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The label of every text."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict([self.encoder_.encode(text) for text in _texts(X)]))

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """The probability of every class, where the estimator has it."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba([self.encoder_.encode(text) for text in _texts(X)]))

    def certificates(
        self, X: Sequence[str], y: Sequence[Any] | None = None, **options: Any
    ) -> list[EncodedCertificate]:
        """The certificate of every text, for its label `y` or else for what `predict` says.

        `options` are those of `sgbt.certify.black_box.certify_encoded`. A linear model over n-grams is bounded without
        questions where it can be (`additive_of`).
        """
        check_is_fitted(self, "estimator_")
        labels = None if y is None else np.searchsorted(self.classes_, np.asarray(y)).tolist()
        bounded = additive_of(self.estimator_) if isinstance(self.encoder_, Encoder) else None
        given = {"additive": bounded} | options
        return certify_encoded(scores_of(self.estimator_), _texts(X), self.encoder_, labels=labels, **given)

    def certify(self, X: Sequence[str]) -> np.ndarray:
        """For every text, whether it is proven that no substitution of any of its words changes `predict`."""
        return np.array([row.certified for row in self.certificates(X)], dtype=bool)


def _fitted(asked: Any, texts: list[str], labels: list[Any] | None) -> tuple[AnyEncoder, Trade | None]:
    """The encoder that an estimator's options ask for, and what it was traded for."""

    def fit(distinction: float) -> AnyEncoder:
        return fit_encoder(texts, asked.threat, labels, distinction=distinction, relevance=asked.relevance)

    if asked.trade is None:
        return fit(asked.distinction), None
    if labels is None:
        raise ValueError("trade needs labels: fit(texts, labels)")
    return fit_traded(fit, texts, labels, asked.trade)


def certified(pipeline: Any, threat: Any = "counter_fitted", **options: Any) -> CertifiedClassifier:
    """A pipeline of vectorizer and classifier, to be trained on encoded text and certified."""
    return CertifiedClassifier(pipeline, threat, **options)


def scores_of(estimator: Any) -> Any:
    """The callable from texts to scores of a fitted classifier: probabilities, or else its decision function.

    Where the largest score is not that of the label that `predict` gives (SVC with probabilities, a tuned threshold),
    that label has 1 and all others 0: certificates are about `predict`.
    """
    scores = estimator.predict_proba if hasattr(estimator, "predict_proba") else partial(_decisions, estimator)
    if isinstance(estimator, Pipeline) and linear_weights(estimator.steps[-1][1]) is not None:
        return scores
    return partial(_as_predicted, estimator, scores)


def _as_predicted(estimator: Any, scores: Any, texts: Sequence[str]) -> np.ndarray:
    found = np.array(scores(texts), dtype=np.float64)
    labels = np.searchsorted(estimator.classes_, np.asarray(estimator.predict(texts)))
    odd = np.flatnonzero(found.argmax(axis=1) != labels)
    found[odd] = labels[odd, None] == np.arange(found.shape[1])
    return found


def _decisions(estimator: Any, texts: Sequence[str]) -> np.ndarray:
    values = np.asarray(estimator.decision_function(texts))
    return values if values.ndim == 2 else np.stack([-values, values], axis=1)


def _labels(y: Sequence[Any] | None) -> list[Any] | None:
    return None if y is None else np.asarray(y).tolist()


def _texts(X: Sequence[str]) -> list[str]:
    if isinstance(X, str):
        raise ValueError("X must be a list of texts, got a single text; put it into a list: [text]")
    texts = list(X)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"X must be a list of texts, got {type(text).__name__} in it")
    return [str(text) for text in texts]
