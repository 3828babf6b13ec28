"""The encoder as a step of scikit-learn's pipelines, and certificates of the pipelines."""

from __future__ import annotations

import itertools

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.small import TABLE, random_texts

from sgbt.bridges.sklearn import CertifiedClassifier, SynonymEncoder, certified
from sgbt.certify.black_box import Answer
from sgbt.core.errors import LexiconError
from sgbt.threats import SubstitutionTable, Threat

TEXTS = [" ".join(words) for words in random_texts(60, 8, 0, shortest=3)]
LABELS = ["yes" if "good" in text or "great" in text else "no" for text in TEXTS]


def test_the_encoder_is_a_step_that_clones_searches_and_is_kept(tmp_path):
    pipeline = make_pipeline(SynonymEncoder(TABLE), TfidfVectorizer(), LogisticRegression())
    search = GridSearchCV(clone(pipeline), {"synonymencoder__distinction": [0.0, 0.5]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_["synonymencoder__distinction"] in (0.0, 0.5)
    joblib.dump(search.best_estimator_, tmp_path / "pipeline.joblib")
    again = joblib.load(tmp_path / "pipeline.joblib")
    assert (again.predict(TEXTS) == search.predict(TEXTS)).all()
    assert again[0].encoder_ == search.best_estimator_[0].encoder_
    encoder = SynonymEncoder(TABLE).fit(TEXTS)
    assert encoder.transform(["GREAT film"]) == encoder.transform(["great\nFilm"])


@pytest.mark.parametrize(
    ("vectorizer", "classifier", "method"),
    [
        (TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(), "additive"),
        (CountVectorizer(), GradientBoostingClassifier(n_estimators=5), "enumeration"),
    ],
)
def test_pipelines_are_certified_with_their_own_labels(vectorizer, classifier, method, tmp_path):
    model = certified(make_pipeline(vectorizer, classifier), TABLE).fit(TEXTS, LABELS)
    rows = model.certificates(TEXTS, LABELS, out=tmp_path / "rows.jsonl", fingerprint="test")
    assert {row.verdict for row in rows} >= {Answer.CERTIFIED}
    assert method in {row.method for row in rows if row.certified}
    predicted = model.predict(TEXTS)
    assert [row.predicted == row.label for row in rows] == (predicted == np.array(LABELS)).tolist()
    stays = model.certify(TEXTS)
    for text, label, certified_ in zip(TEXTS, predicted, stays, strict=True):
        if certified_:
            words = text.split()
            for place, word in enumerate(words):
                for other in TABLE.substitutes(word):
                    assert model.predict([" ".join([*words[:place], other, *words[place + 1 :]])])[0] == label


class _Contrary(LogisticRegression):
    """Says "yes" from a probability of 0.1 on."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.1).astype(int)]


@pytest.mark.parametrize("classifier", [_Contrary(), FixedThresholdClassifier(LogisticRegression(), threshold=0.1)])
def test_certificates_are_about_what_predict_says_not_about_probabilities(classifier):
    """The label of a tuned threshold, of SVC, or of someone's subclass is not that of the largest probability."""
    model = certified(make_pipeline(CountVectorizer(), classifier), TABLE, distinction=5.0).fit(TEXTS, LABELS)
    found = model.certificates(TEXTS)
    assert [model.classes_[row.predicted] for row in found] == model.predict(TEXTS).tolist()
    for text, row in zip(TEXTS, found, strict=True):
        if row.certified:
            versions = (" ".join(words) for words in _versions(text))
            assert set(model.predict(list(versions))) == {model.classes_[row.label]}
    assert any(row.verdict is Answer.BROKEN for row in found)


def _versions(text):
    return itertools.product(*((word, *TABLE.substitutes(word)) for word in text.split()))


def test_counts_that_overflow_are_not_bounded_as_if_they_did_not():
    """In uint8 the 256th "good" makes it none at all."""
    table = SubstitutionTable({"great": ("good",)}, "one word")
    pipeline = make_pipeline(CountVectorizer(dtype=np.uint8), LogisticRegression())
    texts = ["good good", "great", "bad bad", "bad"] * 5
    model = certified(pipeline, table, distinction=50.0).fit(texts, ["yes", "yes", "no", "no"] * 5)
    assert model.encoder_.codes["great"] != model.encoder_.codes["good"]
    text = "good " * 255 + "great bad bad bad"
    assert model.predict([text]) != model.predict([text.replace("great", "good")])
    assert not model.certify([text])[0]


def test_a_certified_classifier_clones():
    model = CertifiedClassifier(
        make_pipeline(CountVectorizer(), LogisticRegression()), TABLE, distinction=0.2, rounds=1
    )
    assert clone(model).get_params()["distinction"] == 0.2
    assert clone(model).fit(TEXTS, LABELS).predict_proba(TEXTS).shape == (60, 2)


def test_training_on_worst_choices_certifies_more():
    pipeline = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression())
    before, after = (certified(pipeline, TABLE, distinction=5.0, rounds=each).fit(TEXTS, LABELS) for each in (0, 2))
    proven = [sum(row.certified for row in model.certificates(TEXTS, LABELS)) for model in (before, after)]
    assert before.encoder_ == after.encoder_
    assert before.estimator_[0].vocabulary_ == after.estimator_[0].vocabulary_
    assert proven[0] < proven[1]
    with pytest.raises(ValueError, match="linear"):
        certified(make_pipeline(CountVectorizer(), GradientBoostingClassifier()), TABLE, rounds=1).fit(TEXTS, LABELS)


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match="single text"):
        SynonymEncoder(TABLE).fit("a text")
    with pytest.raises(ValueError, match="got int"):
        SynonymEncoder(TABLE).fit([1])
    with pytest.raises(LexiconError, match="mean counter_fit"):
        SynonymEncoder("counterfit").fit(TEXTS)
    with pytest.raises(LexiconError, match="a substitution table"):
        SynonymEncoder("none").fit(TEXTS)
    with pytest.raises(LexiconError, match="at most 1 typing error, got 2"):
        SynonymEncoder(Threat.substitutions(TABLE) | Threat.typos(2)).fit(TEXTS)
    with pytest.raises(ValueError, match="rounds needs a pipeline"):
        certified(make_pipeline(CountVectorizer(), LogisticRegression()), Threat.typos(1), rounds=1).fit(TEXTS, LABELS)


def test_a_threat_is_taken_as_its_table():
    one, other = (SynonymEncoder(each).fit(TEXTS).encoder_ for each in (TABLE, Threat.substitutions(TABLE)))
    assert one == other
