"""train: a model, a dataset and an objective in; a classifier with its best dev weights out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from sgbt.core.errors import TrainingError, check_seed
from sgbt.core.files import make_folder
from sgbt.core.locks import claim
from sgbt.data import TextDataset, Tokenizer
from sgbt.embeddings import load_embeddings
from sgbt.models import AnyModel, Bag, BiLSTM, Sum, TextClassifier, TextCNN, save_classifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.threats.named import default_table
from sgbt.training.beginning import (
    adopt_vocabulary,
    copied,
    examples_of,
    note_of,
    redraw,
    settings_of,
    whole_vocabulary,
)
from sgbt.training.config import PRESETS, TrainingConfig, preset_for
from sgbt.training.initialisers import Initialiser
from sgbt.training.linear import ngrams, words  # noqa: F401 - they register their trainers
from sgbt.training.loop.listeners import Listener, Listeners
from sgbt.training.loop.log import RunLog, plot_log
from sgbt.training.loop.parallel import Processes, device_named, together
from sgbt.training.loop.steps import Corpus, Examples
from sgbt.training.loop.trainer import Trainer, trainer_of
from sgbt.training.method import TrainingMethod
from sgbt.training.objectives.objective import Objective, Standard
from sgbt.training.recipes import Fitted, Recipe
from sgbt.training.sharing import TiedWords, tied


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
    model: TextCNN | BiLSTM | Bag | Literal["auto"],
    dataset: TextDataset,
    *,
    objective: Objective | TrainingMethod | None = None,
    initialiser: Initialiser | None = None,
    sharing: TiedWords | None = None,
    recipe: Recipe | None = None,
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

    With "auto" the model, its settings and the temperature of its probabilities are chosen too (`sgbt.training.auto`),
    for `substitutions` or else the counter-fitted ones; `run.about["auto"]` has the reasons.

    `objective` is what is minimised; `initialiser` says where a network's word vectors start, `sharing` which words
    share parameters, and `recipe` how a network is combined with a linear model that is fitted first. All four together
    are a `TrainingMethod`, which may be given as the objective.

    Weights are drawn afresh from `seed`: the same seed gives the same result on one machine, and the model that was
    given stays as it is. The vocabulary is made from train: words that have a vector or are frequent, and all
    substitutes that have a vector; a model whose embedding was not made of a table of vectors brings its own
    `vocabulary`. A linear model needs no vectors: it reads the words that train has `config.minimum_count` times and
    all words of the table, and is trained by one process on the CPU. With a recipe that fits a linear model first, or
    tied words, a network reads the words that train has twice and all words of the table. `tokenizer` says what a word
    is, in languages other than English; the classifier keeps it. With `out`, the run is written there as it goes, and
    the same call resumes it after any interruption. Launched with torchrun, each process takes its share of every
    batch, and the first writes.
    """
    if isinstance(model, str):
        named = (objective, initialiser, sharing, recipe, config, vocabulary)
        return _auto(model, named, dataset, substitutions, seed=seed, tokenizer=tokenizer, out=out, listener=listener)
    place = device_named(device)
    forked = torch.random.fork_rng(devices=[place] if place.type == "cuda" else [])
    method = objective if isinstance(objective, TrainingMethod) else TrainingMethod(objective or Standard())
    given: dict[str, Any] = {"initialiser": initialiser, "sharing": sharing, "recipe": recipe}
    with forked, together(place) as processes:
        task = Task(
            model,
            dataset,
            replace(method, **{name: value for name, value in given.items() if value is not None}),
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


def _auto(
    name: str, named: Sequence[Any], dataset: TextDataset, table: SubstitutionTable | None, **options: Any
) -> Run:
    """The model that is chosen for a dataset."""
    from sgbt.training.auto import train_auto  # which makes a Run

    if name != "auto":
        raise TrainingError(expected='a model or "auto"', got=repr(name), where="train")
    if any(each is not None for each in named):
        raise TrainingError(
            expected='"auto" with its own settings', got="some given as well", where="train",
            remedy="name a model, such as sgbt.BagOfNgrams(), or leave them out",
        )  # fmt: skip
    vectors = partial(load_embeddings, "glove") if table is None else None  # English, as the default table is
    run: Run = train_auto(dataset, table=table if table is not None else default_table(), vectors=vectors, **options)
    return run


@dataclass(frozen=True, eq=False)
class Task:
    """One training as it was asked for."""

    model: TextCNN | BiLSTM | Bag
    dataset: TextDataset
    method: TrainingMethod
    table: SubstitutionTable | None
    seed: int
    config: TrainingConfig
    vocabulary: Vocabulary | None
    tokenizer: Tokenizer
    folder: Path | None
    listener: Listeners
    processes: Processes

    @property
    def trainer(self) -> type[Trainer]:
        """What trains such a model."""
        return trainer_of(self.model)

    @property
    def loss(self) -> Objective:
        """The objective as the model minimises it."""
        return self.method.for_linear_model().objective if self.trainer.linear else self.method.objective

    @property
    def note(self) -> dict[str, Any]:
        """What a folder says of how its model was trained."""
        return note_of(self.dataset, self.method, self.seed, self.config)


def _check(task: Task) -> None:
    """Refuse what cannot be trained before anything is written."""
    model, method, objective = task.model, task.method, task.method.objective
    replaces = objective.needs_substitutions or method.initialiser.needs_substitutions or bool(method.sharing)
    if task.table is None and (replaces or method.recipe.fits_first):
        raise TrainingError(
            expected=f"a substitution table for the objective {objective.name}",
            got="none",
            remedy="pass substitutions=",
        )
    if task.table is not None:
        task.table.require_read_by(task.tokenizer)
    if task.trainer.linear:
        method.for_linear_model()  # refuses what has no meaning there
        if task.processes.size > 1:
            raise TrainingError(
                expected="one process for a linear model", got=str(task.processes.size), remedy="no torchrun"
            )
    else:
        if method.recipe.fits_first and not objective.certifies:
            raise TrainingError(
                expected="ibp or certified as the objective of a recipe", got=objective.name, where=repr(method.recipe)
            )
        for part in (method.initialiser, method.sharing, method.recipe):
            part.check(model)  # type: ignore[arg-type]
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
            processes.from_first(lambda: held.enter_context(claim(folder / ".lock")))
        yield


def _train(task: Task) -> Run:
    if task.folder:
        make_folder(task.folder)
    model, corpus, examples = _encoded(task)
    fitted = _fitted_first(task, model, examples, corpus)
    train, dev = fitted.offset(examples)
    task.method.initialiser.apply(model, corpus)
    model = task.trainer.prepare(model, task.loss, corpus, train)
    fitted.start(model, train)
    model = model.to(task.processes.device)
    clusters = task.method.sharing.clusters(corpus)
    trainer = task.trainer(
        model=model,
        objective=task.loss,
        config=task.config,
        seed=task.seed,
        corpus=corpus,
        train=train,
        dev=dev,
        folder=task.folder,
        settings=settings_of(model, task.note, corpus, task.tokenizer, clusters),
        listener=task.listener,
        processes=task.processes,
    )
    with tied(model, clusters):
        log = trainer.run()
    weight = task.method.recipe.weight(model, dev, task.processes.device) if fitted.part else None
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
    if vocabulary is None and (task.method.recipe.fits_first or task.method.sharing):
        vocabulary = whole_vocabulary(counts, task.table, minimum_count=PRESETS["grams"].minimum_count)
    vocabulary = adopt_vocabulary(model, vocabulary, counts, task.table, task.config)
    redraw(model, task.seed)
    index = SubstitutionIndex.build(task.table, vocabulary) if task.table is not None else None
    splits = (task.dataset.train, task.dataset.dev)
    examples = [examples_of(split, task.tokenizer, vocabulary, task.config, index) for split in splits]
    return model, Corpus(vocabulary, counts, task.table), examples


def _fitted_first(task: Task, model: Any, examples: list[Examples], corpus: Corpus) -> Fitted:
    """What the recipe fits before the network: by the first process, for all."""
    recipe = task.method.recipe
    if not recipe.fits_first:
        return Fitted()
    kappa, listener = task.method.objective.worst_case_share, task.listener.for_parts()
    return task.processes.from_first(
        lambda: recipe.fit(model, examples, corpus, kappa=kappa, folder=task.folder, listener=listener)
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
        task.method.recipe.finish(folder)

    task.processes.from_first(written)
