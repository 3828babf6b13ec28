"""train: a model, a dataset and an objective in; a classifier with its best dev weights out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from sgbt.core.errors import TrainingError
from sgbt.core.fields import check_seed
from sgbt.core.files import make_folder
from sgbt.core.locks import claim
from sgbt.data import TextDataset, Tokenizer
from sgbt.models import AnyModel, Bag, BiLSTM, Sum, TextClassifier, TextCNN, save_classifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.training import grams  # noqa: F401 - registers its trainer
from sgbt.training.beginning import adopt_vocabulary, copied, examples_of, redraw
from sgbt.training.config import PRESETS, TrainingConfig, preset_for
from sgbt.training.linear import bag_vocabulary
from sgbt.training.listener import Listener, Listeners
from sgbt.training.log import RunLog
from sgbt.training.loop import prepared, trainer_of
from sgbt.training.objective import Corpus, Objective, Standard
from sgbt.training.parallel import Processes, device_named, together
from sgbt.training.plot import plot_log
from sgbt.training.recipes import Fitted, Recipe, recipe_of
from sgbt.training.settings import note_of, settings_of
from sgbt.training.steps import Examples
from sgbt.training.ties import check_ties, tied, tied_levels


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training run: the classifier with the best weights, and every step's loss parts."""

    model: TextClassifier
    log: RunLog
    folder: Path | None
    about: Mapping[str, Any] = field(default_factory=dict)
    """What was trained on what: dataset, objective, seed and settings; the ensemble weight where one was chosen."""
    sum_scores: Mapping[str, float] = field(default_factory=dict)
    """The scores on dev of a network and the linear model added to it by a chosen ensemble weight."""

    @property
    def dev(self) -> dict[str, float]:
        """The scores of the chosen epoch on dev, or those of the weighted sum."""
        if self.sum_scores:
            return dict(self.sum_scores)
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
    recipe: Recipe | None = None,
) -> Run:
    """Train a copy of `model` on the train split, choosing the epoch on dev; the test split is never looked at.

    Weights are drawn afresh from `seed`: the same seed gives the same result on one machine, and the model that was
    given stays as it is. The vocabulary is made from train: words that have a vector or are frequent, and all
    substitutes that have a vector; a model whose embedding was not made of a table of vectors brings its own
    `vocabulary`. A linear model needs no vectors: it reads the words that train has `config.rare` times and all
    words of the table, and is trained by one process on the CPU. With a recipe that fits a linear model first, or tied
    words, a network reads the words that train has twice and all words of the table. `recipe` says how a network and a
    linear model are combined (`sgbt.training.recipes`); by default the options of the objective do. `tokenizer` says
    what a word is, in languages other than English; the classifier keeps it. With `out`, the run is written there as it
    goes, and the same call resumes it after any interruption. Launched with torchrun, each process takes its share of
    every batch, and the first writes.
    """
    place = device_named(device)
    forked = torch.random.fork_rng(devices=[place] if place.type == "cuda" else [])
    objective = objective or Standard()
    with forked, together(place) as processes:
        task = Task(
            model,
            dataset,
            objective,
            recipe or recipe_of(objective),
            substitutions,
            seed,
            config or preset_for(model.kind, dataset.name),
            vocabulary,
            tokenizer or Tokenizer(),
            Path(out) if out else None,
            Listeners(listener) if listener else Listeners(),
            processes,
        )
        _check(task)
        with _alone_in(task.folder, processes):
            return _train(task)


@dataclass(frozen=True, eq=False)
class Task:
    """One training as it was asked for."""

    model: TextCNN | BiLSTM | Bag
    dataset: TextDataset
    objective: Objective
    recipe: Recipe
    table: SubstitutionTable | None
    seed: int
    config: TrainingConfig
    vocabulary: Vocabulary | None
    tokenizer: Tokenizer
    folder: Path | None
    listener: Listeners
    processes: Processes

    @property
    def loss(self) -> Objective:
        """The objective as the model minimises it."""
        return self.objective.for_linear_model() if isinstance(self.model, Bag) else self.objective

    @property
    def note(self) -> dict[str, Any]:
        """What a folder says of how its model was trained."""
        note = note_of(self.dataset, self.objective, self.seed, self.config)
        if self.recipe != recipe_of(self.objective):
            note["recipe"] = repr(self.recipe)
        return note


def _check(task: Task) -> None:
    """Refuse what cannot be trained before anything is written."""
    model, objective, recipe = task.model, task.objective, task.recipe
    if (objective.needs_substitutions or recipe.fits_first) and task.table is None:
        raise TrainingError(
            expected=f"a substitution table for the objective {objective.name}",
            got="none",
            remedy="pass substitutions=",
        )
    if task.table is not None:
        task.table.require_read_by(task.tokenizer)
    if isinstance(model, Bag):
        objective.for_linear_model()
        if recipe.fits_first:
            raise TrainingError(expected="a network for the recipe", got="a linear model", where=repr(recipe))
        if task.processes.size > 1:
            raise TrainingError(
                expected="one process for a linear model", got=str(task.processes.size), remedy="no torchrun"
            )
    else:
        if recipe.fits_first and not objective.certifies:
            raise TrainingError(
                expected="ibp or certified as the objective of a recipe", got=objective.name, where=repr(recipe)
            )
        recipe.check(model)
        if objective.tied_at:
            check_ties(model)
    check_seed(task.seed, TrainingError)
    if model.config.classes != task.dataset.classes:
        raise TrainingError(
            expected=f"a model with {task.dataset.classes} classes",
            got=str(model.config.classes),
            where=task.dataset.name,
        )


@contextlib.contextmanager
def _alone_in(folder: Path | None, processes: Processes) -> Iterator[None]:
    """No other run writes to the folder meanwhile; the first process holds it for all of ours."""
    with contextlib.ExitStack() as held:
        if folder:
            processes.told(lambda: held.enter_context(claim(folder / ".lock")))
        yield


def _train(task: Task) -> Run:
    if task.folder:
        make_folder(task.folder)
    model, corpus, examples = _encoded(task)
    fitted = _fitted_first(task, model, examples, corpus)
    train, dev = fitted.offset(examples)
    model = prepared(model, task.loss, corpus, train)
    fitted.start(model, train)
    model = model.to(task.processes.device)
    clusters = tied_levels(corpus, task.objective.tied_at) if task.objective.tied_at else None
    trainer = trainer_of(model, corpus)(
        model=model,
        objective=task.loss,
        config=task.config,
        seed=task.seed,
        train=train,
        dev=dev,
        folder=task.folder,
        settings=settings_of(model, task.note, corpus, task.tokenizer, clusters),
        listener=task.listener,
        processes=task.processes,
    )
    with tied(model, clusters):
        log = trainer.run()
    weight = task.recipe.weight(model, dev, task.processes.device) if fitted.part else None
    chosen = {} if weight is None else {"ensemble_weight": weight}
    scores = {} if weight is None else trainer.scores()
    run = Run(_classifier(task, model, fitted, corpus), log, task.folder, task.note | chosen, scores)
    if task.folder:
        _write(run, task.folder, task)
    return run


def _encoded(task: Task) -> tuple[Any, Corpus, list[Examples]]:
    """A model of its own with weights drawn from the seed, what is known of the words, and train and dev in ids."""
    counts = task.dataset.train.tokenised(task.tokenizer).counts()
    model, vocabulary = copied(task.model), task.vocabulary
    if vocabulary is None and (task.recipe.fits_first or task.objective.tied_at):
        vocabulary = bag_vocabulary(counts, task.table, rare=PRESETS["grams"].rare)
    vocabulary = adopt_vocabulary(model, vocabulary, counts, task.table, task.config)
    redraw(model, task.seed)
    index = SubstitutionIndex.build(task.table, vocabulary) if task.table is not None else None
    splits = (task.dataset.train, task.dataset.dev)
    examples = [examples_of(split, task.tokenizer, vocabulary, task.config, index) for split in splits]
    return model, Corpus(vocabulary, counts, task.table), examples


def _fitted_first(task: Task, model: Any, examples: list[Examples], corpus: Corpus) -> Fitted:
    """What the recipe fits before the network: by the first process, for all."""
    if not task.recipe.fits_first:
        return Fitted()
    kappa, listener = getattr(task.objective, "kappa", 1.0), task.listener.beforehand()
    return task.processes.told(
        lambda: task.recipe.fit(model, examples, corpus, kappa=kappa, folder=task.folder, listener=listener)
    )


def _classifier(task: Task, model: Any, fitted: Fitted, corpus: Corpus) -> TextClassifier:
    final: AnyModel = model
    if fitted.part is not None:
        final = Sum((model, fitted.part.model.to(task.processes.device)))
    return TextClassifier(
        final.eval(), corpus.vocabulary, task.dataset.label_names, task.table, task.config.max_length, task.tokenizer
    )


def _write(run: Run, folder: Path, task: Task) -> None:
    def written() -> None:
        save_classifier(run.model, folder, training={**run.about, "dev": run.dev})
        plot_log(run.log.rows, folder / "training.png")
        task.recipe.finish(folder)

    task.processes.told(written)
