"""Worst cases of additive models against enumeration through scikit-learn itself."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from tests.black_box.strings import LISTED, PLAIN, encoders, every_text, texts

from sgbt.bridges.linear_pipelines import additive_of
from sgbt.bridges.sklearn import scores_of
from sgbt.certify.black_box import Answer, Encoder, certify_encoded
from sgbt.threats import SubstitutionTable

PATTERN = r"(?u)\w+|[!.]"


def corpus(seed: int, classes: int) -> tuple[list[str], np.ndarray]:
    rng = random.Random(seed)
    lines = [" ".join(rng.choices(LISTED + PLAIN, k=6)) for _ in range(30)]
    return lines, np.arange(30) % classes


VECTORIZERS = {
    "counts": lambda: CountVectorizer(ngram_range=(1, 2), token_pattern=PATTERN),
    "trigrams": lambda: CountVectorizer(ngram_range=(2, 3), token_pattern=PATTERN),
    "tf-idf, l2": lambda: TfidfVectorizer(ngram_range=(1, 2)),
    "tf-idf, l1": lambda: TfidfVectorizer(norm="l1", token_pattern=PATTERN),
    "tf-idf, no norm": lambda: TfidfVectorizer(norm=None, stop_words=["the", "was"]),
    "binary": lambda: CountVectorizer(binary=True, ngram_range=(1, 2), token_pattern=PATTERN),
    "binary, l2": lambda: TfidfVectorizer(binary=True, ngram_range=(1, 2), token_pattern=PATTERN),
    "sublinear": lambda: TfidfVectorizer(sublinear_tf=True, norm=None, token_pattern=PATTERN),
    "sublinear, l2": lambda: TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 3), token_pattern=PATTERN),
    "hashed, binary": lambda: HashingVectorizer(n_features=16, norm=None, binary=True, alternate_sign=False),
    "hashed": lambda: HashingVectorizer(n_features=16, norm=None, token_pattern=PATTERN),
    "hashed, l2": lambda: HashingVectorizer(n_features=16, ngram_range=(1, 2)),
}
EXACT = ("counts", "trigrams", "tf-idf, no norm", "hashed")
"""Neither row normalisation nor counts that grow less and less."""
CLASSIFIERS = {"logistic": LogisticRegression, "ridge": RidgeClassifier, "naive bayes": MultinomialNB}


@pytest.mark.parametrize("vectorizer", VECTORIZERS)
@settings(max_examples=25)
@given(
    st.sampled_from(sorted(CLASSIFIERS)),
    encoders(),
    texts(),
    st.integers(0, 50),
    st.sampled_from([2, 3]),
    st.sampled_from([None, 1, 2]),
)
def test_the_worst_case_is_below_every_text_and_exact_where_it_says_so(
    vectorizer, classifier, encoder, text, seed, classes, budget
):
    first = VECTORIZERS[vectorizer]()
    if classifier == "naive bayes" and isinstance(first, HashingVectorizer):
        classifier = "ridge"  # naive Bayes takes no negative counts
    pipeline = make_pipeline(first, CLASSIFIERS[classifier]()).fit(*corpus(seed, classes))
    additive = additive_of(pipeline)
    assert additive is not None
    encoded = encoder.read(text)
    choices = [(piece, *encoded.others.get(place, ())) for place, piece in enumerate(encoded.pieces)]
    margins = []
    for chosen in itertools.product(*choices):
        swaps = {place: word for place, word in enumerate(chosen) if word != encoded.pieces[place]}
        if budget is None or len(swaps) <= budget:
            margins.append(margin(pipeline, encoded.written(swaps)))
    worst = additive.worst(encoded, 0, max_substitutions=budget)
    if worst.margin == -np.inf:
        assert any(not word.isalpha() for place in encoded.others for word in choices[place])
        return
    assert worst.margin <= min(margins) + 1e-9
    if vectorizer in EXACT:
        assert worst.margin == pytest.approx(min(margins), abs=1e-6)
        assert margin(pipeline, encoded.written(worst.swaps)) == pytest.approx(min(margins), abs=1e-6)


def margin(pipeline, text: str) -> float:
    """The first class's score minus the largest other one, by scikit-learn."""
    if hasattr(pipeline[-1], "decision_function"):
        values = pipeline.decision_function([text])[0]
        return -float(values) if np.ndim(values) == 0 else float(values[0] - max(values[1:]))
    joint = pipeline[-1].predict_joint_log_proba(pipeline[:-1].transform([text]))[0]
    return float(joint[0] - max(joint[1:]))


@settings(max_examples=60)
@given(encoders(), texts(), st.integers(0, 50))
def test_certificates_by_the_worst_case_hold_for_every_text(encoder, text, seed):
    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression()).fit(*corpus(seed, 2))
    (row,) = certify_encoded(scores_of(pipeline), [text], encoder, additive=additive_of(pipeline), max_queries=1)
    versions = [encoder.encode(each) for each in every_text(text, encoder.table, random.Random(seed))]
    if row.stays:
        assert (pipeline.predict(versions) == row.label).all()
    if row.verdict is Answer.BROKEN:
        assert pipeline.predict([encoder.encode(row.witness)])[0] != row.label


def test_what_is_not_additive_is_not_taken_for_it():
    lines, labels = corpus(0, 2)
    for steps in (
        (TfidfVectorizer(sublinear_tf=True, norm="l1"), LogisticRegression()),
        (HashingVectorizer(binary=True), LogisticRegression()),
        (CountVectorizer(analyzer="char"), LogisticRegression()),
        (CountVectorizer(token_pattern=r"\w+ \w+"), LogisticRegression()),
        (CountVectorizer(tokenizer=str.split, token_pattern=None), LogisticRegression()),
        (CountVectorizer(), BernoulliNB()),
        (HashingVectorizer(norm="l1"), LogisticRegression()),
    ):
        assert additive_of(make_pipeline(*steps).fit(lines, labels)) is None
    three = make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression()).fit(lines, labels)
    assert additive_of(three).norm == "l2"


def test_a_word_that_one_choice_alone_can_bring_is_bounded_exactly():
    pipeline = make_pipeline(TfidfVectorizer(binary=True, norm=None), LogisticRegression()).fit(*corpus(0, 2))
    table = SubstitutionTable({"good": ("bad",), "film": ("movie",)})
    encoder = Encoder(table, {word: word for word in ("good", "bad", "film", "movie")})
    encoded = encoder.read("good film, a fine and great plot")
    versions = [encoded.written(dict(each)) for each in ([], [(0, "bad")], [(1, "movie")], [(0, "bad"), (1, "movie")])]
    least = min(margin(pipeline, version) for version in versions)
    assert additive_of(pipeline).worst(encoded, 0).margin == pytest.approx(least, abs=1e-9)
