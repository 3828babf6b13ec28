"""auto: a model, its settings and its probabilities, chosen for a dataset; the choice says its reasons.

Trained are n-grams of synonym clusters, on the worst case of all substitutions. Where the dataset is small enough,
words learn from word vectors too, and a bag of words beside the n-grams is tried (`sgbt.training.model_search`): what
certifies most of dev is taken. Then the temperature is chosen on dev (`sgbt.training.calibration`). Rare classes weigh
more where classes are unbalanced.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from sgbt.core.errors import TrainingError, check_seed, visible
from sgbt.core.files import make_folder
from sgbt.core.locks import claim
from sgbt.core.shares import ByClass
from sgbt.data import TextDataset, Tokenizer
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfNgrams, TextClassifier, save_classifier
from sgbt.threats import SubstitutionTable
from sgbt.training.balance import unbalanced
from sgbt.training.calibration import best_scale, scale
from sgbt.training.config import PRESETS
from sgbt.training.loop.listeners import Listener, Listeners
from sgbt.training.loop.log import RunLog, plot_log
from sgbt.training.model_search import KAPPA, Candidate, ModelSearch

MAX_LENGTH = PRESETS[BagOfNgrams.kind].max_length


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, in three lines with their reasons, and the figures behind them."""

    lines: tuple[str, str, str]
    tried: dict[str, dict[str, float]]
    temperature: float
    by_class: ByClass


def choose(search: ModelSearch) -> tuple[Candidate, Choice]:
    """The candidate that certifies most of dev, calibrated."""
    tried = [search.ngrams()]
    if search.settings.several and len(search.dev) and search.table is not None:
        tried.append(search.with_words(tried[0]))
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
        + (f"; {balance}, so rare ones weigh more" if balance else "")
        + (f"; words learn from {search.vectors.name} vectors" if search.vectors else ""),
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
    vectors: Callable[[], EmbeddingTable] | None = None,
) -> Any:
    """What `sgbt.train("auto", ...)` does; without a table nothing can be certified, and training is on texts alone.

    `vectors` are read where the dataset is small enough to need them, and done without where they cannot be had.
    """
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
        search = ModelSearch(dataset, table, tokenizer, seed, listener or Listeners(), vectors)
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
            "vectors": None if search.vectors is None else search.vectors.name,
            "class_weights": None if search.weights is None else search.weights.tolist(),
            "dev_by_class": choice.by_class.to_json(),
        },
    }
