"""Linear models that are fitted before a network is trained: to be added to it, or to start it from."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from sgbt.core.files import atomic_write, make_folder
from sgbt.data import RaggedIds, batches
from sgbt.embeddings import EmbeddingTable
from sgbt.models import Bag, BagOfWords, worst_case_logits
from sgbt.models.worst_case import Margins
from sgbt.threats import UNKNOWN, Vocabulary
from sgbt.training.beginning import copied
from sgbt.training.config import PRESETS, TrainingConfig
from sgbt.training.loop.listeners import FitsAsOne, Listener
from sgbt.training.loop.steps import Corpus, Examples
from sgbt.training.loop.trainer import trainer_of
from sgbt.training.objectives.ibp import IBP

FILE = "beside.safetensors"
FOLDER = ".bag"
SPLITS = ("train", "dev")
FOLDS = 4
"""Folds of train; the margins of each come from a model fitted to the others."""
WORDS_AT_ONCE = 1 << 15


def fitted(
    empty: Bag,
    examples: Sequence[Examples],
    corpus: Corpus,
    *,
    kappa: float,
    listener: Listener,
    folder: Path | None = None,
    settings: str = "",
) -> Bag:
    """A copy of `empty` fitted to train, the epoch chosen on dev; with a folder, an interrupted fit goes on there.

    `kappa` is the share of the loss that is on the worst case.
    """
    train, dev = examples
    objective = IBP(kappa=kappa, ramp_epochs=0.0)
    model = copied(empty)
    trainer = trainer_of(model)
    trainer(
        model=trainer.prepare(model, objective, corpus, train),
        objective=objective,
        config=PRESETS[model.kind],
        seed=0,
        corpus=corpus,
        train=train,
        dev=dev,
        folder=folder,
        settings=settings,
        listener=listener,
    ).run()
    return model


@dataclass(frozen=True, slots=True)
class FittedPart:
    """A fitted linear model, and its margins on train (None where the network is trained independently) and dev."""

    model: Bag
    margins: tuple[Margins | None, Margins]

    @staticmethod
    def independent(
        empty: Bag, examples: Sequence[Examples], corpus: Corpus, *, kappa: float, listener: Listener
    ) -> FittedPart:
        """Fitted to all of train."""
        model = fitted(empty, examples, corpus, kappa=kappa, listener=listener)
        return FittedPart(model, (None, margins_of(model, examples[1])))

    @staticmethod
    def cross_fitted(
        empty: Bag, examples: Sequence[Examples], corpus: Corpus, *, kappa: float, listener: Listener
    ) -> FittedPart:
        """Fitted to all of train; the margins of a train text come from a model fitted without its fold.

        A text without a finite worst case counts as it is: no network could make up for it.
        """
        train, dev = examples
        one_run = FitsAsOne(listener, fits=FOLDS + 1)
        fold = np.random.default_rng(0).permutation(len(train)) % FOLDS
        margins = Margins(*(torch.zeros(len(train), empty.config.classes) for _ in range(2)))
        for number in range(FOLDS):
            own = np.flatnonzero(fold == number)
            if len(own) in (0, len(train)):  # too few texts for folds: their margins stay zero
                continue
            others = (_taken(train, np.flatnonzero(fold != number)), dev)
            model = fitted(empty, others, corpus, kappa=kappa, listener=one_run)
            found = margins_of(model, _taken(train, own))
            margins.clean[own] = found.clean
            margins.worst[own] = torch.where(found.worst.isfinite(), found.worst, found.clean)
        whole = fitted(empty, examples, corpus, kappa=kappa, listener=one_run)
        return FittedPart(whole, (margins, margins_of(whole, dev)))

    def save(self, folder: Path, settings: str) -> None:
        """Keep it with the checkpoint, so that a run that was killed need not fit it again."""
        tensors = {f"channel/{name}": value.contiguous() for name, value in self.model.state_dict().items()}
        for split, margins in zip(SPLITS, self.margins, strict=True):
            if margins is not None:
                tensors |= {f"{split}/clean": margins.clean, f"{split}/worst": margins.worst}
        with atomic_write(folder / FILE) as stream:
            stream.write(safetensors.torch.save(tensors, metadata={"settings": settings}))

    @staticmethod
    def load(folder: Path, settings: str, *, empty: Bag) -> FittedPart | None:
        """What was kept for the same settings; None when there is nothing, or it cannot be read."""
        try:
            with safetensors.safe_open(folder / FILE, framework="pt") as stream:
                if stream.metadata()["settings"] != settings:
                    return None
                tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        except (safetensors.SafetensorError, OSError, KeyError, TypeError):
            return None
        state = {name.removeprefix("channel/"): value for name, value in tensors.items() if name.startswith("channel/")}
        model = type(empty)(empty.config)  # type: ignore[arg-type]
        model.adopt(codes=state["codes"], keys=state["keys"])
        model.load_state_dict(state)
        train, dev = (
            Margins(tensors[f"{split}/clean"], tensors[f"{split}/worst"]) if f"{split}/clean" in tensors else None
            for split in SPLITS
        )
        return FittedPart(model, (train, dev)) if dev is not None else None


def part_of(
    empty: Bag,
    examples: Sequence[Examples],
    corpus: Corpus,
    *,
    kappa: float,
    independent: bool,
    folder: Path | None,
    listener: Listener,
) -> FittedPart:
    """The fitted part, or what an earlier start of the same run kept of it in the folder."""
    more = (repr(empty.config), _vectors_hash(empty, corpus.vocabulary), kappa, 1 if independent else FOLDS)
    settings = _settings(examples, corpus, PRESETS[empty.kind], *more)
    part = FittedPart.load(folder, settings, empty=empty) if folder else None
    if part is None:
        fit = FittedPart.independent if independent else FittedPart.cross_fitted
        part = fit(empty, examples, corpus, kappa=kappa, listener=listener)
        if folder:
            part.save(folder, settings)
    return part


def initial_bag(
    examples: Sequence[Examples],
    corpus: Corpus,
    *,
    classes: int,
    kappa: float,
    vectors: EmbeddingTable | None,
    folder: Path | None,
    listener: Listener,
) -> BagOfWords:
    """A fitted BagOfWords of single words, which learns from `vectors` as well where there are any.

    With a folder it is kept there until the run is finished (`discard_initial_bag`).
    """
    kept = folder / FOLDER if folder else None
    if kept:
        make_folder(kept)
    settings = _settings(examples, corpus, PRESETS["linear"], classes, kappa)
    empty = BagOfWords(classes=classes, features=(), vectors=vectors)
    bag = fitted(empty, examples, corpus, kappa=kappa, listener=listener, folder=kept, settings=settings)
    assert isinstance(bag, BagOfWords)
    return bag


def discard_initial_bag(folder: Path) -> None:
    """Remove what was kept of the bag."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


@torch.no_grad()
def margins_of(model: Bag, examples: Examples) -> Margins:
    """The margins of a linear model on every text."""
    found = Margins(*(torch.zeros(len(examples), model.config.classes) for _ in range(2)))
    index = examples.substitutions
    assert index is not None, "without substitutions there is no worst case"
    for batch in batches(examples.rows, size=256, words=WORDS_AT_ONCE):
        ids = batch.ids.masked_fill(batch.ids >= examples.vocabulary_size, UNKNOWN)
        choices, labels = index.for_rows(batch.ids), torch.from_numpy(examples.labels)[batch.rows]
        logits = model(ids, batch.mask)
        found.clean[batch.rows] = (logits - logits.gather(1, labels.unsqueeze(1))).float()
        worst = worst_case_logits(model, choices.ids, choices.allowed, batch.mask, labels)
        found.worst[batch.rows] = worst.float()
    return found


def _vectors_hash(model: Bag, vocabulary: Vocabulary) -> str:
    """A hash of the vectors of the vocabulary that a model learns from; empty where it learns from none."""
    source = getattr(model, "source", None)
    if source is None:
        return ""
    rows = [source.row_of(word) for word in vocabulary.words]
    known = np.array([row for row in rows if row is not None], dtype=np.int64)
    whole = hashlib.sha256(np.array([row is not None for row in rows]).tobytes())
    whole.update(np.ascontiguousarray(source.vectors[known]).tobytes())
    return whole.hexdigest()


def _taken(examples: Examples, rows: np.ndarray) -> Examples:
    texts = [examples.rows[row] for row in rows.tolist()]
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    flat = np.concatenate(texts) if texts else examples.rows.flat[:0]
    return replace(examples, rows=RaggedIds(flat, starts), labels=examples.labels[rows])


def _settings(examples: Sequence[Examples], corpus: Corpus, config: TrainingConfig, *more: float | str) -> str:
    """One hash of all that determines a linear model that is fitted before a network."""
    assert corpus.table is not None
    whole = hashlib.sha256(json.dumps([corpus.vocabulary.hash, corpus.table.hash, str(config), *more]).encode())
    for part in examples:
        for array in (part.rows.flat, part.rows.starts, part.labels):
            whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()
