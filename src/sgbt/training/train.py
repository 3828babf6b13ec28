"""train: a model, a dataset and an objective in; a classifier with its best dev weights out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sgbt.data import TextDataset, Tokenizer
from sgbt.errors import TrainingError
from sgbt.files import claim, make_folder
from sgbt.lexicon import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.models import (
    AnyModel,
    Bag,
    BiLSTM,
    LinearBag,
    Network,
    TextClassifier,
    TextCNN,
    TwoChannel,
    save_classifier,
)
from sgbt.seeds import check_seed
from sgbt.training.beginning import adopt_vocabulary, copied, examples_of, redraw
from sgbt.training.beside import Beside, beside_words
from sgbt.training.certified import Certified
from sgbt.training.config import PRESETS, TrainingConfig, preset_for
from sgbt.training.from_bag import begin_as, check_begins, discard, fitted_bag
from sgbt.training.grams import GramTrainer, fit_codes
from sgbt.training.linear import LinearTrainer, bag_objective, bag_vocabulary, fit_features
from sgbt.training.listener import Listener, Listeners, beforehand
from sgbt.training.log import RunLog
from sgbt.training.loop import Trainer
from sgbt.training.objective import Corpus, Objective, Standard
from sgbt.training.parallel import Processes, device_named, together
from sgbt.training.plot import plot_log
from sgbt.training.settings import note_of, settings_of
from sgbt.training.steps import Examples
from sgbt.training.tied_words import check_ties, tied
from sgbt.training.ties import tied_levels
from sgbt.training.weighing import weigh


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training run: the classifier with the best weights, and every step's loss parts."""

    model: TextClassifier
    log: RunLog
    folder: Path | None
    about: Mapping[str, Any] = field(default_factory=dict)
    """What was trained on what: dataset, objective, seed and settings."""

    @property
    def dev(self) -> dict[str, float]:
        """The scores of the chosen epoch on dev."""
        chosen = [row["dev"] for row in self.log.rows if row.get("best")]
        return chosen[-1] if chosen else {}


def train(
    model: TextCNN | BiLSTM | Bag,
    dataset: TextDataset,
    *,
    objective: Objective | None = None,
    substitutions: SubstitutionTable | None = None,
    seed: int = 0,
    config: TrainingConfig | None = None,
    vocabulary: Vocabulary | None = None,
    tokenizer: Tokenizer | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
    device: str | torch.device = "auto",
) -> Run:
    """Train a copy of `model` on the train split, choosing the epoch on dev; the test split is never looked at.

    Weights are drawn afresh from `seed`: the same seed gives the same result on one machine, and the model that was
    given stays as it is. The vocabulary is made from train: words that have a vector or are frequent, and all
    substitutes that have a vector; a model whose embedding was not made of a table of vectors brings its own
    `vocabulary`. A linear model needs no vectors: it reads the words that train has `config.rare` times and all
    words of the table, and is trained by one process on the CPU. A network beside a linear channel, or whose words
    are tied (`Certified`), reads the words that train has twice and all words of the table. `tokenizer` says what a
    word is, in languages other than English; the classifier keeps it. With `out`, the run is written there as it goes,
    and the same call resumes it after any interruption. Launched with torchrun, each process takes its share of every
    batch, and the first writes.
    """
    place = device_named(device)
    folder = Path(out) if out else None
    forked = torch.random.fork_rng(devices=[place] if place.type == "cuda" else [])
    objective, tokenizer, listener = objective or Standard(), tokenizer or Tokenizer(), listener or Listeners()
    with forked, together(place) as processes:
        _check(model, dataset, objective, substitutions, seed, tokenizer, processes)
        with _alone_in(folder, processes):
            return _train(
                model,
                dataset,
                objective,
                substitutions,
                seed,
                config,
                vocabulary,
                tokenizer,
                folder,
                listener,
                processes,
            )


def _check(
    model: TextCNN | BiLSTM | Bag,
    dataset: TextDataset,
    objective: Objective,
    substitutions: SubstitutionTable | None,
    seed: int,
    tokenizer: Tokenizer,
    processes: Processes,
) -> None:
    """Refuse what cannot be trained before anything is written."""
    if objective.needs_substitutions and substitutions is None:
        raise TrainingError(
            wanted=f"a substitution table for the objective {objective.name}", got="none", remedy="pass substitutions="
        )
    if substitutions is not None:
        substitutions.require_read_by(tokenizer)
    if isinstance(model, Bag):
        bag_objective(objective)
        if processes.size > 1:
            raise TrainingError(wanted="one process for a linear model", got=str(processes.size), remedy="no torchrun")
    elif isinstance(objective, Certified):
        if objective.from_bag:
            check_begins(model)
        if objective.ties:
            check_ties(model)
    check_seed(seed, TrainingError)
    if model.config.classes != dataset.classes:
        raise TrainingError(
            wanted=f"a model with {dataset.classes} classes", got=str(model.config.classes), where=dataset.name
        )


@contextlib.contextmanager
def _alone_in(folder: Path | None, processes: Processes) -> Iterator[None]:
    """No other run writes to the folder meanwhile; the first process holds it for all of ours."""
    with contextlib.ExitStack() as held:
        if folder:
            processes.told(lambda: held.enter_context(claim(folder / ".lock")))
        yield


def _train(
    model: TextCNN | BiLSTM | Bag,
    dataset: TextDataset,
    objective: Objective,
    substitutions: SubstitutionTable | None,
    seed: int,
    config: TrainingConfig | None,
    vocabulary: Vocabulary | None,
    tokenizer: Tokenizer,
    folder: Path | None,
    listener: Listener,
    processes: Processes,
) -> Run:
    config = config or preset_for(model.kind, dataset.name)
    minimised = bag_objective(objective) if isinstance(model, Bag) else objective
    if folder:
        make_folder(folder)
    tokens = dataset.train.tokenised(tokenizer)
    counts = tokens.counts()
    model = copied(model)
    first = objective if isinstance(objective, Certified) and objective.fits_first else None
    ties = objective.ties if isinstance(objective, Certified) else ()
    if (first or ties) and vocabulary is None:  # the words that a linear model reads: all of the table
        vocabulary = bag_vocabulary(counts, substitutions, rare=PRESETS["grams"].rare)
    vocabulary = adopt_vocabulary(model, vocabulary, counts, substitutions, config)
    redraw(model, seed)
    index = SubstitutionIndex.build(substitutions, vocabulary) if substitutions is not None else None
    examples = [examples_of(split, tokenizer, vocabulary, config, index) for split in (dataset.train, dataset.dev)]
    corpus = Corpus(vocabulary, counts, substitutions)
    beside, bag = None, None
    if first:
        assert not isinstance(model, Bag)
        beside, bag = processes.told(partial(_first_fitted, model, examples, corpus, first, folder, listener))
    if beside is not None:
        examples = [replace(part, beside=leads) for part, leads in zip(examples, beside.leads, strict=True)]
    prepared: Network | Bag
    kind: Callable[..., Trainer]
    if isinstance(model, LinearBag):
        fit_features(model, corpus, examples[0])
        prepared, kind = model, partial(LinearTrainer, corpus=corpus)
    elif isinstance(model, Bag):
        fit_codes(model, corpus)
        prepared, kind = model, GramTrainer
    else:
        prepared, kind = objective.prepare(model, corpus), Trainer
        if bag is not None:
            begin_as(prepared, bag, words=float(examples[0].rows.lengths.mean()))
        prepared = prepared.to(processes.device)
    communities = tied_levels(corpus, ties) if ties else None
    trainer = kind(
        model=prepared,
        objective=minimised,
        config=config,
        seed=seed,
        train=examples[0],
        dev=examples[1],
        folder=folder,
        settings=settings_of(
            prepared, dataset, objective, substitutions, seed, config, vocabulary, tokenizer, communities
        ),
        listener=listener,
        processes=processes,
    )
    with contextlib.nullcontext() if isinstance(prepared, Bag) else tied(prepared, communities):
        log = trainer.run()
    final: AnyModel = prepared
    if beside is not None:
        assert not isinstance(prepared, Bag)
        if first is not None and first.weighed:
            weight = weigh(prepared, examples[1], processes.device)
            log.add(epoch=config.epochs, step=0, dev=trainer.scores(), best=True, weight=weight)
            log.flush()
        final = TwoChannel(prepared, beside.channel.to(processes.device))
    classifier = TextClassifier(
        final.eval(), vocabulary, dataset.label_names, substitutions, config.max_length, tokenizer
    )
    run = Run(classifier, log, folder, note_of(dataset, objective, seed, config))
    if folder:
        processes.told(lambda: _write(run, folder))
        if bag is not None:
            processes.told(lambda: discard(folder))
    return run


def _first_fitted(
    model: Network,
    examples: list[Examples],
    corpus: Corpus,
    objective: Certified,
    folder: Path | None,
    listener: Listener,
) -> tuple[Beside | None, LinearBag | None]:
    """The linear model that the network learns beside, or the one that it begins as."""
    classes, vectors = model.config.classes, model.embedding.source
    asked: dict[str, Any] = {"kappa": objective.kappa, "folder": folder, "listener": beforehand(listener)}
    channel = objective.channel(classes, vectors)
    if channel is not None:
        return beside_words(channel, examples, corpus, apart=objective.apart, **asked), None
    return None, fitted_bag(examples, corpus, classes=classes, vectors=vectors, **asked)


def _write(run: Run, folder: Path) -> None:
    save_classifier(run.model, folder, training={**run.about, "dev": run.dev})
    plot_log(run.log.rows, folder / "training.png")
