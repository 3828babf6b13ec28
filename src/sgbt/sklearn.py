"""RobustTextClassifier: training and certifying behind scikit-learn's interface (the extra `sklearn`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import metrics, model_selection
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import _scorer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sgbt.certify.certificate import Certificate
from sgbt.certify.certifying import certify
from sgbt.certify.edits import FittedToThreat, ThreatCertificate, certify_against, train_for_threat
from sgbt.core.errors import TrainingError
from sgbt.core.registry import MODELS, OBJECTIVES
from sgbt.data import Split, TextDataset
from sgbt.data.dataset import cut
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.models import Bag, TextClassifier
from sgbt.resources import UnavailableError
from sgbt.threats import SubstitutionTable, Threat, parse_threat
from sgbt.threats.named import table_named
from sgbt.training import Run, TrainingConfig, method_of, preset_for, train, train_auto
from sgbt.training.config import with_options
from sgbt.training.objectives.ibp import IBP
from sgbt.training.objectives.worst_edits import WorstEdits
from sgbt.training.threat_bag import ThreatFit

AUTO = "auto"


def certified_score(estimator: RobustTextClassifier, X: Sequence[str], y: Sequence[Any]) -> float:
    """The share of texts that are right and certified; `scoring="certified"` of scikit-learn's searches.

    Certified is what `certify` of the estimator says: against its substitutions, or against its threat.
    """
    right = estimator.predict(X) == np.asarray(y)
    return float((right & estimator.certify(X)).mean())


class RobustTextClassifier(ClassifierMixin, BaseEstimator):
    """A text classifier trained against word substitution: fit, predict and certify.

    `model` "auto" chooses n-grams, words and settings for the texts (`sgbt.training.auto`), and a temperature for their
    probabilities; the options of single models are for the others, by name. `objective` is by itself certified for
    linear models and sgbt for networks.
    `vectors` is a name, a path or an `EmbeddingTable`; `substitutions` is "auto" (counter-fitted neighbours), None, a
    path of a JSON file or a `SubstitutionTable`. With a `threat`, a `Threat` or as the command line writes it ("model +
    typos:1", where model is `substitutions`), that is what is trained for and certified: by "auto" or "linear" a bag of
    words is fitted to its worst case, other models are trained on its edits (`worst-edits`).

    `model_options`, `objective_options` and `config` are dictionaries of fields of the model, the objective and
    `TrainingConfig`. A share `dev` of the texts chooses the best epoch; with zero the last epoch is kept.
    """

    def __init__(
        self,
        model: str = "auto",
        objective: str | None = None,
        *,
        vectors: str | Path | EmbeddingTable = "glove",
        substitutions: str | Path | SubstitutionTable | None = "auto",
        threat: Threat | str | None = None,
        epochs: int | None = None,
        dev: float = 0.1,
        seed: int = 0,
        model_options: dict[str, Any] | None = None,
        objective_options: dict[str, Any] | None = None,
        config: dict[str, Any] | None = None,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.objective = objective
        self.vectors = vectors
        self.substitutions = substitutions
        self.threat = threat
        self.epochs = epochs
        self.dev = dev
        self.seed = seed
        self.model_options = model_options
        self.objective_options = objective_options
        self.config = config
        self.device = device

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> RobustTextClassifier:
        """Train on texts and their labels, which may be of any kind."""
        texts = _texts(X)
        check_classification_targets(y)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(texts) != len(labels):
            raise ValueError(f"X has {len(texts)} texts and y has {len(labels)} labels")
        if len(self.classes_) < 2:
            raise ValueError(f"y must have two classes or more, got {len(self.classes_)} class")
        self._check_names()
        whole = Split("train", texts, labels.astype(np.int64))
        parts = cut(whole.labels, self.dev, seed=self.seed, groups=texts)
        dataset = TextDataset(
            "given texts",
            tuple(map(str, range(len(self.classes_)))),
            whole.take(parts.kept),
            Split("dev", whole.take(parts.taken).texts, whole.labels[parts.taken]),
            Split("test", (), np.zeros(0, dtype=np.int64)),
        )
        self.threat_ = self._threat()
        self.run_ = self._run(dataset) if self.threat_ is None else self._run_for(self.threat_, dataset)
        self.classifier_: TextClassifier = self.run_.model
        return self

    def _check_names(self) -> None:
        objectives = [*OBJECTIVES, None]
        for name, known, given in (("model", [AUTO, *MODELS], self.model), ("objective", objectives, self.objective)):
            if given not in known:
                shown = ", ".join(map(str, known))
                raise TrainingError(expected=f"one of {shown}", got=repr(given), where=f"the parameter {name}")
        beside = ("objective", "epochs", "model_options", "objective_options", "config")
        if self.threat is not None and (self.objective or self.objective_options):
            raise TrainingError(
                expected="a threat alone", got="an objective as well", where="the parameter threat",
                remedy="leave the objective out",
            )  # fmt: skip
        if self.model == AUTO and (named := [name for name in beside if getattr(self, name)]):
            raise TrainingError(
                expected="auto alone: it chooses its settings",
                got=f"{named[0]} as well",
                where="the parameter model",
                remedy=f"leave it out, or name one of {', '.join(MODELS)}",
            )

    def _run(self, dataset: TextDataset) -> Run:
        if self.model == AUTO:
            vectors = self._vectors if self.substitutions == "auto" else None
            run: Run = train_auto(dataset, table=self._table(), seed=self.seed, vectors=vectors)
            return run
        kind = MODELS[self.model]
        objective = self.objective or ("certified" if issubclass(kind, Bag) else "sgbt")
        options = with_options(kind.Options(classes=dataset.classes), self.model_options or {}, "model_options")
        return train(
            kind.untrained(options, self._vectors),
            dataset,
            objective=method_of(objective, self.objective_options or {}, "objective_options"),
            substitutions=self._table(),
            seed=self.seed,
            config=self._config(),
            device=self.device,
        )

    def _threat(self) -> Threat | None:
        if self.threat is None or isinstance(self.threat, Threat):
            return self.threat
        return parse_threat(
            self.threat,
            lambda name: self._table() if name == "model" else table_named(name, self._vectors, data_home=None),
        )

    def _run_for(self, threat: Threat, dataset: TextDataset) -> Run | FittedToThreat:
        """Trained for a threat: as `sgbt train --threat` does."""
        others, substitutions = threat.without_substitutions, threat.of_kind("substitutions")
        if self.model in (AUTO, "linear"):
            vectors = None if self.model == "linear" else self._vectors()
            fit = ThreatFit() if self.model == "linear" else None
            return train_for_threat(dataset, threat, fit=fit, vectors=vectors, seed=self.seed)
        kind = MODELS[self.model]
        options = with_options(kind.Options(classes=dataset.classes), self.model_options or {}, "model_options")
        return train(
            kind.untrained(options, self._vectors),
            dataset,
            objective=IBP() if others is None else WorstEdits(threat=others.name),
            substitutions=substitutions.table if substitutions is not None else None,
            seed=self.seed,
            config=self._config(),
            device=self.device,
        )

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """The probability of every class, in the order of `classes_`."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.predict(_texts(X)).probabilities

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The most probable class of every text."""
        check_is_fitted(self, "classifier_")
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def certify(self, X: Sequence[str]) -> np.ndarray:
        """For every text, whether it is proven that no substitution of any of its words changes `predict`, or nothing
        that the threat allows, if there is one.

        False is no proof of the contrary; and where nothing can be replaced, nothing is proven. `certificates` says
        the two apart.
        """
        return np.array([proof.certified for proof in self.certificates(X)])

    def certificates(self, X: Sequence[str], **options: Any) -> list[Certificate] | list[ThreatCertificate]:
        """The certificate of every text for the class that `predict` gives; `options` are those of `sgbt.certify`."""
        check_is_fitted(self, "classifier_")
        threat = options.pop("threat", self.threat_)
        if threat is not None and not threat.only_substitutions:
            return certify_against(self.classifier_, _texts(X), threat, **options)
        if threat is not None:
            limits = [limit for limit in (threat.edits[0].at_most, threat.total) if limit is not None]
            options = {"table": threat.edits[0].table, "max_substitutions": min(limits, default=None)} | options
        if self.classifier_.table is None and options.get("table") is None:
            raise TrainingError(
                expected="substitutions to certify against",
                got="none",
                remedy="fit with substitutions='auto' or a table",
            )
        return certify(self.classifier_, _texts(X), **options)

    def _vectors(self) -> EmbeddingTable:
        return self.vectors if isinstance(self.vectors, EmbeddingTable) else load_embeddings(self.vectors)

    def _table(self) -> SubstitutionTable | None:
        given = self.substitutions
        if given is None or isinstance(given, SubstitutionTable):
            return given
        if given != "auto":
            return SubstitutionTable.from_json(given)
        try:
            return SubstitutionTable.counter_fitted()
        except UnavailableError:
            return SubstitutionTable.counter_fit(self._vectors())

    def _config(self) -> TrainingConfig:
        options = (self.config or {}) | ({} if self.epochs is None else {"epochs": self.epochs})
        changed: TrainingConfig = with_options(preset_for(self.model, ""), options, "config")
        return changed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _texts(X: Sequence[str]) -> tuple[str, ...]:
    if isinstance(X, str):
        raise ValueError("X must be a list of texts, got a single text; put it into a list: [text]")
    texts = tuple(X)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"X must be a list of texts, got {type(text).__name__} in it")
    if not texts:
        raise ValueError("X must have one text or more, got none")
    return tuple(map(str, texts))


def _register(name: str, scorer: Callable[..., float]) -> None:
    """Let every search and cross-validation take the scorer by its name.

    scikit-learn has no public way to do so: names stand in a dictionary, and every function that takes `scoring` keeps
    a set of those that there were when it was imported. Where another version keeps them elsewhere, the name is not
    known there, and the scorer itself is still taken.
    """
    getattr(_scorer, "_SCORERS", {}).setdefault(name, scorer)
    for options in _named_options():
        options.add(name)


def _named_options() -> Iterator[set[str]]:
    """What the parameter `scoring` may be called, for each function and class that has it."""
    for module, each in [(part, each) for part in (metrics, model_selection) for each in part.__all__]:
        with contextlib.suppress(AttributeError, ImportError):  # experimental ones are not there unless asked for
            known = getattr(module, each)
            allowed = getattr(known, "_parameter_constraints", getattr(known, "_skl_parameter_constraints", {}))
            for option in allowed.get("scoring", ()):
                names = getattr(option, "options", None)
                if isinstance(names, set):
                    yield names


_register("certified", certified_score)
