"""RobustTextClassifier within scikit-learn: its checks, pipelines, searches; and what `certify` proves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator
from tests import small

from sgbt.certify import Verdict, certify
from sgbt.core.errors import TrainingError
from sgbt.sklearn import RobustTextClassifier, certified_score
from sgbt.threats import SubstitutionIndex, Threat

DATA = small.dataset(train=60)
X, Y = list(DATA.train.texts), np.array(["bad", "good"])[DATA.train.labels]
QUICK = {"batch_size": 8, "learning_rate": 0.01, "minimum_count": 1, "max_length": 16}


def made(**options) -> RobustTextClassifier:
    given = {
        "model": "cnn",
        "objective": "sgbt",
        "vectors": small.vectors(),
        "substitutions": small.TABLE,
        "epochs": 3,
        "config": QUICK,
        "device": "cpu",
    }
    return RobustTextClassifier(**(given | options))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGBT_CACHE", str(tmp_path))
    torch.set_num_threads(1)


def test_fit_predict_and_score() -> None:
    fitted = made(epochs=20).fit(X, Y)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (60, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert set(fitted.predict(X)) <= {"bad", "good"}
    assert fitted.score(X, Y) == np.mean(fitted.predict(X) == Y) > 0.8
    numbers = made().fit(np.array(X, dtype=object), np.where(Y == "good", 7, -1))
    assert numbers.classes_.tolist() == [-1, 7]
    assert np.array_equal(made().fit(X, Y).predict_proba(X), made().fit(X, Y).predict_proba(X))


@pytest.mark.parametrize("model", ["linear", "grams"])
def test_linear_models_are_fitted_without_reading_vectors(model: str) -> None:
    fitted = made(
        model=model, objective="certified", vectors="no-such-file", epochs=5, model_options={"minimum_count": 1}
    )
    assert fitted.fit(X, Y).score(X, Y) > 0.8
    assert fitted.certify(X).sum() > 0
    with pytest.raises(TrainingError, match="options"):
        made(model=model, model_options={"filters": 3}).fit(X, Y)


@pytest.mark.parametrize("model", ["cnn", "bilstm"])
def test_what_is_certified_holds_for_every_substitution(model: str) -> None:
    options = {"cnn": {"filters": 4, "pooling": "mean"}, "bilstm": {"hidden": 4}}[model]
    fitted = made(
        model=model, objective="ibp", objective_options={"ramp_epochs": 1.0}, model_options=options, epochs=15
    )
    fitted.fit(X, Y)
    proven = fitted.certify(X)
    assert proven.dtype == bool
    proofs = certify(fitted.classifier_, X)
    assert [proof.certified for proof in proofs] == proven.tolist()
    assert not fitted.certify(["zzz qqq", ""]).any()
    assert {proof.verdict for proof in fitted.certificates(["zzz qqq", ""])} == {Verdict.VACUOUS}
    assert fitted.certificates(X, max_substitutions=1) == certify(fitted.classifier_, X, max_substitutions=1)
    assert 0 < proven.sum() < len(X)
    index = SubstitutionIndex.build(small.TABLE, fitted.classifier_.vocabulary)
    choices = index.for_words([text.split() for text in X])
    checked = [row for row in np.flatnonzero(proven) if choices.combinations(int(row)) <= 3000]
    for row in checked:
        variants = [
            " ".join(fitted.classifier_.vocabulary.decode(ids))
            for ids in small.all_variants(choices, int(row)).tolist()
        ]
        assert set(fitted.predict(variants)) == {fitted.predict([X[row]])[0]}
    assert checked
    with pytest.raises(TrainingError, match="substitutions to certify against"):
        made(objective="standard", substitutions=None).fit(X, Y).certify(X)


def test_parameters_clones_pipelines_and_searches() -> None:
    estimator = made(seed=3)
    assert clone(estimator).get_params()["seed"] == 3
    assert estimator.set_params(objective="gbm").objective == "gbm"
    pipeline = Pipeline([("lower", FunctionTransformer(lambda texts: [t.lower() for t in texts])), ("text", made())])
    assert pipeline.fit(X, Y).predict(X[:2]).shape == (2,)
    search = GridSearchCV(made(epochs=1), {"objective": ["standard", "sgbt"]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_params_["objective"] in ("standard", "sgbt")


@pytest.mark.parametrize("labels", [np.array([-1, 7]), np.array(["bad", "good"]), np.array([False, True])])
def test_by_default_the_model_is_chosen_and_labels_keep_their_type(labels: np.ndarray) -> None:
    y = labels[DATA.train.labels]
    fitted = RobustTextClassifier(substitutions=small.TABLE).fit(X, y)
    assert fitted.classes_.dtype == labels.dtype
    assert fitted.score(X, y) > 0.8
    assert len(fitted.run_.about["auto"]["reasons"]) == 3
    proven = fitted.certify(X)
    assert certified_score(fitted, X, y) == np.mean(proven & (fitted.predict(X) == y)) > 0.2
    with pytest.raises(TrainingError, match="auto alone"):
        RobustTextClassifier(objective="sgbt", substitutions=small.TABLE).fit(X, y)


def test_a_search_may_aim_at_what_is_certified() -> None:
    estimator = RobustTextClassifier(substitutions=small.TABLE)
    search = GridSearchCV(estimator, {"dev": [0.2]}, cv=2, scoring="certified", error_score="raise").fit(X, Y)
    assert search.best_score_ == cross_val_score(search.best_estimator_, X, Y, cv=2, scoring=certified_score).mean() > 0
    assert cross_val_score(search.best_estimator_, X, Y, cv=2, scoring="certified").mean() == search.best_score_
    assert get_scorer("certified") is not None
    assert "certified" in get_scorer_names()


def test_what_cannot_be_is_refused() -> None:
    for use in ("predict", "predict_proba", "certify"):
        with pytest.raises(NotFittedError):
            getattr(made(), use)(X)
    for texts, labels, sentence in (
        ("text", Y, "a single text"),
        ([], [], "got none"),
        ([1, 2], [0, 1], "got int"),
        (X, Y[:3], "3 labels"),
        (X, ["same"] * 60, "two classes or more"),
    ):
        with pytest.raises(ValueError, match=sentence):
            made().fit(texts, labels)
    with pytest.raises(TrainingError, match="one of auto, cnn, bilstm"):
        made(model="tree").fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_has_nothing_to_say_against_it() -> None:
    """For texts, scikit-learn's own suite leaves out whatever would hand the estimator numbers, and says so."""
    results = check_estimator(made(epochs=1), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.parametrize(
    "check",
    [
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_mixin_order",
    ],
)
def test_the_checks_of_scikit_learn_that_need_no_numbers(check: str) -> None:
    getattr(estimator_checks, check)("RobustTextClassifier", RobustTextClassifier())


@pytest.mark.parametrize("model", ["linear", "grams"])
def test_a_threat_is_trained_for_certified_and_scored(model: str) -> None:
    config = None if model == "linear" else {"minimum_count": 1}
    given = made(model=model, objective=None, epochs=None if model == "linear" else 2, config=config, dev=0.2)
    estimator = given.set_params(threat="model + delete:1:any")
    fitted = estimator.fit(X, Y)
    proofs = fitted.certificates(X)
    assert {proof.threat for proof in proofs} == {fitted.threat_.name}
    assert fitted.certify(X).tolist() == [proof.certified for proof in proofs]
    right = fitted.predict(X) == Y
    assert certified_score(fitted, X, Y) == np.mean(right & fitted.certify(X))
    smaller = fitted.certificates(X, threat=Threat.deletions("any", at_most=0))
    assert not any(proof.certified for proof in smaller)  # nothing can be done, so nothing is proven


def test_a_search_chooses_among_threats_by_certified_texts() -> None:
    estimator = made(model="linear", objective=None, epochs=None, config=None)
    search = GridSearchCV(
        estimator, {"threat": ["typos:1", Threat.duplications(at_most=1)]}, scoring=certified_score, cv=2
    )
    assert search.fit(X, Y).best_score_ == max(search.cv_results_["mean_test_score"])


def test_a_threat_beside_an_objective_is_refused() -> None:
    with pytest.raises(TrainingError, match="a threat alone"):
        made(threat="typos:1").fit(X, Y)
