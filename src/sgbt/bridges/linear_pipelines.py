"""scikit-learn pipelines of word counts and a linear classifier, as additive models."""

from __future__ import annotations

import re
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline

from sgbt.certify.black_box import AdditiveModel
from sgbt.certify.black_box.counts import Feature
from sgbt.data.token_pattern import across_spaces

EXACT = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64))
"""Types in which counts neither overflow nor are rounded."""


def additive_of(estimator: Any) -> AdditiveModel | None:
    """A fitted pipeline of vectorizer, perhaps TfidfTransformer, and linear classifier, as an additive model.

    None where something of it is not additive, or not known to be: then texts are enumerated.
    """
    if not isinstance(estimator, Pipeline):
        return None
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    weights = linear_weights(steps[-1])
    if weights is None or len(steps) not in (2, 3) or not isinstance(steps[0], CountVectorizer | HashingVectorizer):
        return None
    if not all(map(_is_its_own, (estimator, *steps))):
        return None
    first, norm = steps[0], getattr(steps[0], "norm", None)
    if np.dtype(first.dtype) not in EXACT:
        return None  # a count of 256 is 0 in uint8, and float32 rounds far more than is allowed for
    idf = first.idf_ if isinstance(first, TfidfVectorizer) and first.use_idf else None
    sublinear = getattr(first, "sublinear_tf", False)
    if len(steps) == 3:
        second = steps[1]
        if not isinstance(second, TfidfTransformer) or sublinear or norm is not None or idf is not None:
            return None
        norm, idf, sublinear = second.norm, second.idf_ if second.use_idf else None, second.sublinear_tf
    growth = "binary" if first.binary else "sublinear" if sublinear else None
    signed = isinstance(first, HashingVectorizer) and first.alternate_sign
    if not _reads_words(first) or (norm == "l1" and (signed or growth)) or (signed and growth):
        return None
    prepare, cut, ignored = first.build_preprocessor(), first.build_tokenizer(), first.get_stop_words() or ()

    def tokens(text: str) -> list[str]:
        found = cut(prepare(text))
        return [token for token in found if token not in ignored] if ignored else found

    return AdditiveModel(tokens, _Features(first, idf), first.ngram_range, *weights, norm, growth)


class _Features:
    """The number and factor of n-grams, remembered."""

    def __init__(self, vectorizer: Any, idf: np.ndarray | None) -> None:
        self._vectorizer, self._idf = vectorizer, idf
        self._hashed: dict[str, Feature | None] = {}

    def __call__(self, gram: str) -> Feature | None:
        if isinstance(self._vectorizer, CountVectorizer):
            number = self._vectorizer.vocabulary_.get(gram)
            return None if number is None else (number, 1.0 if self._idf is None else float(self._idf[number]))
        if gram not in self._hashed:
            row = self._vectorizer._get_hasher().transform([[gram]]).tocoo()
            number, sign = int(row.col[0]), float(row.data[0])
            self._hashed[gram] = (number, sign if self._idf is None else sign * float(self._idf[number]))
        return self._hashed[gram]


def _reads_words(vectorizer: Any) -> bool:
    """Whether its tokens are found one by one: by a pattern under which a space separates them, after lower-casing."""
    plain = vectorizer.analyzer == "word" and vectorizer.preprocessor is None and vectorizer.tokenizer is None
    pattern = vectorizer.token_pattern
    if not plain or vectorizer.strip_accents is not None or not isinstance(pattern, str):
        return False
    verbose_alike = not re.search(r"[\s#]", pattern)  # the analysis reads patterns as verbose ones
    return verbose_alike and re.compile(pattern).groups == 0 and not across_spaces(pattern)


def _is_its_own(step: Any) -> bool:
    """Whether a step is of scikit-learn itself: a subclass from elsewhere may read or decide otherwise."""
    return type(step).__module__.startswith("sklearn.")


def linear_weights(classifier: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights and intercepts of a classifier of scikit-learn itself that takes the largest score; None for others."""
    return _weights(classifier) if _is_its_own(classifier) else None


@singledispatch
def _weights(classifier: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights [classes, features] and intercepts of a classifier that takes the largest score; None for others."""
    return None


@_weights.register
def _linear(classifier: LinearClassifierMixin) -> tuple[np.ndarray, np.ndarray]:
    weights = np.atleast_2d(np.asarray(classifier.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(classifier.intercept_, dtype=np.float64).ravel(), (len(weights),))
    if len(weights) == 1:
        return np.vstack([np.zeros_like(weights), weights]), np.array([0.0, intercepts[0]])
    return weights, intercepts


@_weights.register
def _naive_bayes(classifier: MultinomialNB) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(classifier.feature_log_prob_), np.asarray(classifier.class_log_prior_)
