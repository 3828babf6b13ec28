"""auto: a model, its settings and its probabilities, chosen for a dataset; the choice says its reasons.

Trained are n-grams of synonym clusters, on the worst case of all substitutions. Where the dataset is small enough, a
coarser clustering, three clusterings at once and a bag of words beside the n-grams are tried too, and what certifies
most of dev is taken. Then the temperature is chosen on dev (`sgbt.training.calibration`). Rare classes weigh more where
classes are unbalanced.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError, check_seed, visible
from sgbt.core.files import make_folder
from sgbt.core.locks import claim
from sgbt.core.shares import ByClass
from sgbt.data import TextDataset, Tokenizer, batches
from sgbt.models import Bag, BagOfNgrams, BagOfWords, Sum, TextClassifier, save_classifier
from sgbt.models.worst_case import Margins
from sgbt.threats import SubstitutionIndex, SubstitutionTable
from sgbt.training.balance import class_weights, unbalanced
from sgbt.training.beginning import examples_of, whole_vocabulary
from sgbt.training.calibration import best_scale, scale
from sgbt.training.config import PRESETS
from sgbt.training.fitted_parts import margins_of
from sgbt.training.linear import ngrams as _ngrams  # noqa: F401 - it registers its trainer
from sgbt.training.linear import words as _words  # noqa: F401 - it registers its trainer
from sgbt.training.loop.listeners import Listener, Listeners, preparing
from sgbt.training.loop.log import RunLog, plot_log
from sgbt.training.loop.steps import Corpus
from sgbt.training.loop.trainer import trainer_of
from sgbt.training.objectives.ibp import IBP
from sgbt.training.objectives.objective import Objective, Standard
from sgbt.training.recipes import best_weight
from sgbt.training.size_settings import CLUSTERINGS, SizeSettings

KAPPA = 0.8
"""The share of the loss that is on the worst case."""
MAX_LENGTH = PRESETS[BagOfNgrams.kind].max_length
MOST_EPOCHS_OF_WORDS = 8
TIES = (30.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One model that was tried: its margins on dev with their worst case, and the scores that follow."""

    title: str
    model: Bag | Sum
    margins: Margins
    labels: Tensor
    log: RunLog

    @property
    def scores(self) -> dict[str, float]:
        """Shares of dev that are right and proven; nothing without dev."""
        if not (texts := len(self.labels)):
            return {}
        clean, proven = self.margins.correct(self.labels), self.margins.robust(self.labels)
        return {"accuracy": clean / texts, "certified": proven / texts, "score": proven / texts}

    def __str__(self) -> str:
        shares = "{certified:.1%} certified, {accuracy:.1%} right".format(**self.scores) if self.scores else ""
        return f"{self.title}: {shares}" if shares else self.title


@dataclass(eq=False)
class ModelSearch:
    """The models that are tried for one dataset, one after the other."""

    dataset: TextDataset
    table: SubstitutionTable | None
    tokenizer: Tokenizer
    seed: int
    listener: Listener

    def __post_init__(self) -> None:
        preparing(self.listener, "words and substitutes", 0, 1)
        config = PRESETS[BagOfNgrams.kind]
        counts = self.dataset.train.tokenised(self.tokenizer).counts()
        vocabulary = whole_vocabulary(counts, self.table, minimum_count=config.minimum_count)
        index = SubstitutionIndex.build(self.table, vocabulary) if self.table is not None else None
        self.corpus = Corpus(vocabulary, counts, self.table)
        self.train, self.dev = (
            examples_of(split, self.tokenizer, vocabulary, config, index)
            for split in (self.dataset.train, self.dataset.dev)
        )
        self.labels = torch.from_numpy(self.dev.labels)
        self.weights = class_weights(self.train.labels, self.dataset.classes)
        self.settings = SizeSettings.of(int(self.train.rows.lengths.sum()), self.dataset.classes)

    def ngrams(self, resolutions: tuple[float, ...]) -> Candidate:
        """N-grams of clusters."""
        own = self.settings
        model = BagOfNgrams(
            classes=self.dataset.classes,
            longest=own.longest,
            resolution=resolutions[0],
            more_resolutions=resolutions[1:],
            minimum_count=own.minimum_count,
        )
        return self._fitted(f"n-grams over {CLUSTERINGS[resolutions]}", model, PRESETS[model.kind])

    def with_words(self, first: Candidate) -> Candidate:
        """A bag of words added, times the weight with the least worst-case cross-entropy on dev."""
        model = BagOfWords(classes=self.dataset.classes, features=(), ties=TIES)
        config = replace(PRESETS[model.kind], epochs=MOST_EPOCHS_OF_WORDS, patience=MOST_EPOCHS_OF_WORDS)
        found = self._fitted("a bag of words", model, config)
        weight = best_weight(found.margins.worst, first.margins.worst, self.labels)
        if not weight:
            return first
        scale(found.model, weight)
        margins = Margins(
            *(getattr(first.margins, name) + weight * getattr(found.margins, name) for name in ("clean", "worst"))
        )
        assert not isinstance(first.model, Sum)
        return Candidate(
            f"{first.title} and a bag of words", Sum((first.model, found.model)), margins, self.labels, first.log
        )

    def _fitted(self, title: str, model: Any, config: Any) -> Candidate:
        preparing(self.listener, f"{title}: synonym clusters", 0, 1)
        objective: Objective = Standard() if self.table is None else IBP(kappa=KAPPA, ramp_epochs=0.0)
        trainer = trainer_of(model)
        log = trainer(
            model=trainer.prepare(model, objective, self.corpus, self.train),
            objective=objective,
            config=config,
            seed=self.seed,
            corpus=self.corpus,
            train=self.train,
            dev=self.dev,
            folder=None,
            settings="",
            listener=self.listener,
            class_weights=self.weights,
        ).run()
        return Candidate(title, model.eval(), self._margins(model), self.labels, log)

    def _margins(self, model: Any) -> Margins:
        if self.table is not None:
            return margins_of(model, self.dev)
        ids = self.dev.ids
        clean = torch.zeros(len(ids), self.dataset.classes)
        with torch.no_grad():
            for batch in batches(ids, size=256, words=1 << 15):
                clean[batch.rows] = model(batch.ids, batch.mask).float()
        clean = clean - clean.gather(1, self.labels.unsqueeze(1))
        return Margins(clean, clean)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, in three lines with their reasons, and the figures behind them."""

    lines: tuple[str, str, str]
    tried: dict[str, dict[str, float]]
    temperature: float
    by_class: ByClass


def choose(search: ModelSearch) -> tuple[Candidate, Choice]:
    """The candidate that certifies most of dev, calibrated."""
    several = len(search.dev) and search.table is not None
    clusterings = search.settings.clusterings if several else search.settings.clusterings[:1]
    tried = [search.ngrams(each) for each in clusterings]
    best = max(tried, key=_rank)
    if search.settings.words_beside and several:
        tried.append(search.with_words(best))
        best = max(tried, key=_rank)
    factor = best_scale(best.margins.clean, search.labels)
    scale(best.model, factor)
    return best, Choice(
        _lines(search, tried, best, factor),
        {each.title: each.scores for each in tried},
        1 / factor,
        _by_class(search, best),
    )


def _rank(candidate: Candidate) -> float:
    return candidate.scores.get("score", 0.0)


def _lines(search: ModelSearch, tried: list[Candidate], best: Candidate, factor: float) -> tuple[str, str, str]:
    own, texts, words = search.settings, len(search.train), int(search.train.rows.lengths.sum())
    others = "; ".join(str(each) for each in tried if each is not best)
    if not len(search.dev):
        why = "the one taken where there is no dev to choose by"
    else:
        why = f"most of dev (others: {others})" if others else "the one tried for so many words and classes"
    size = f"{texts:,} texts of {words / max(texts, 1):.0f} words, {search.dataset.classes} classes"
    balance = unbalanced(search.train.labels, search.dataset.label_names)
    before, after = (
        float(F.cross_entropy(by * best.margins.clean, search.labels)) if len(search.labels) else 0.0
        for by in (1.0, factor)
    )
    loss = f"cross-entropy on dev {before:.3f} -> {after:.3f}" if len(search.labels) else "no dev to choose it on"
    return (
        f"model: {best} - {why}",
        f"settings: n-grams of up to {own.longest} words that train has {own.minimum_count} times - {size}"
        + (f"; {balance}, so rare ones weigh more" if balance else ""),
        f"probabilities: temperature {1 / factor:.2f} - {loss}",
    )


def _by_class(search: ModelSearch, best: Candidate) -> ByClass:
    labels = search.labels.tolist()
    answers = best.margins.clean.argmax(dim=1).tolist()
    others = best.margins.worst.scatter(1, search.labels.unsqueeze(1), -torch.inf)
    proven = (others.amax(dim=1) < 0).tolist() if len(labels) else []
    certified = zip(labels, proven, strict=True) if search.table is not None else None
    return ByClass.of(search.dataset.label_names, zip(labels, answers, strict=True), proven=certified)


def train_auto(
    dataset: TextDataset,
    *,
    table: SubstitutionTable | None,
    seed: int = 0,
    tokenizer: Tokenizer | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
) -> Any:
    """What `sgbt.train("auto", ...)` does; without a table nothing can be certified, and training is on texts alone."""
    from sgbt.training.train import Run  # which calls this

    check_seed(seed, TrainingError)
    tokenizer, folder = tokenizer or Tokenizer(), Path(out) if out else None
    if table is not None:
        table.require_read_by(tokenizer)
    if not len(dataset.train):
        raise TrainingError(expected="texts to train on", got="none", where=dataset.name)
    with contextlib.ExitStack() as held, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if folder:
            make_folder(folder)
            held.enter_context(claim(folder / ".lock"))
        started = time.monotonic()
        search = ModelSearch(dataset, table, tokenizer, seed, listener or Listeners())
        best, choice = choose(search)
        about = _about(search, choice) | {"seconds": round(time.monotonic() - started, 1)}
        log = RunLog.resume(folder, epoch=0, step=0)
        for row in best.log.rows:
            log.add(**row)
        log.flush()
        classifier = TextClassifier(
            best.model.eval(), search.corpus.vocabulary, dataset.label_names, table, MAX_LENGTH, tokenizer
        )
        if folder:
            save_classifier(classifier, folder, training={**about, "dev": best.scores})
            plot_log(log.rows, folder / "training.png")
    return Run(classifier, log, folder, about, best.scores)


def _about(search: ModelSearch, choice: Choice) -> dict[str, Any]:
    """What a folder says of how its model was chosen."""
    proven = search.table is not None
    return {
        "dataset": visible(search.dataset.name),
        "dataset_hash": search.dataset.hash,
        "objective": "certified" if proven else "standard",
        "objective_options": {"kappa": KAPPA} if proven else {},
        "seed": search.seed,
        "config": asdict(PRESETS[BagOfNgrams.kind]),
        "auto": {
            "reasons": list(choice.lines),
            "tried": choice.tried,
            "temperature": choice.temperature,
            "class_weights": None if search.weights is None else search.weights.tolist(),
            "dev_by_class": choice.by_class.to_json(),
        },
    }
