"""The stages of the demo. Each keeps what it makes, and takes up what an earlier run of it has left."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from sgbt.attacks import AttackResult, attack
from sgbt.certify import Certificate, certify, check_consistent
from sgbt.certify.rows.file import KnownTexts
from sgbt.cli import options as opt
from sgbt.cli.attack_view import AttackView
from sgbt.cli.reading import Reading
from sgbt.cli.screen import counting
from sgbt.cli.train_auto import AutoView
from sgbt.cli.train_view import TrainingView
from sgbt.core.errors import LexiconError
from sgbt.data import Split, TextDataset, Tokenizer
from sgbt.embeddings import EmbeddingTable
from sgbt.models import TextCNN, load_classifier
from sgbt.models.folder import CONFIG as CONFIG_FILE
from sgbt.models.folder import load_tensors, save_tensors, training_note
from sgbt.threats import EmbeddingStart, SubstitutionTable
from sgbt.training import SGBT, Certified, Run, Standard, TrainingConfig, train, train_auto
from sgbt.training.loop.log import RunLog

NORMAL, CERTIFIED, SMOOTH, DEFAULT = "normal", "certified", "sgbt", "default"
NETWORKS = (NORMAL, CERTIFIED, SMOOTH)
METHODS = ("greedy", "pwws")
DEV = 1000
"""Dev reviews by which the best epoch is chosen."""
WIDTH, SPREAD = 64, 0.16
"""Of the 300 directions of GloVe, so many are kept: enough for sentiment, and four times as quick."""

OBJECTIVES = {
    NORMAL: Standard(),
    CERTIFIED: Certified(kappa=1.0, ramp_epochs=1.0, beta=0.0, gamma=0.0, compactness=0.0, word_dropout=0.1),
    SMOOTH: SGBT(),
}
"""The networks differ in nothing but this. Options were chosen on dev reviews; those of S-GBT are the paper's."""

CONFIG = TrainingConfig(
    epochs=4,
    batch_size=32,
    learning_rate=3e-3,
    weight_decay=0.0,
    max_length=400,
    patience=4,
    checkpoint_seconds=15.0,
)


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """How much of the data is used."""

    reviews: int
    limit: int


@dataclass(frozen=True, eq=False)
class Data:
    """What all stages work on: parts of the three splits, the vectors to start from, and who may replace whom."""

    dataset: TextDataset
    of_train: int
    of_test: int
    vectors: EmbeddingTable
    table: SubstitutionTable
    tokenizer: Tokenizer = field(default_factory=Tokenizer)


@dataclass(frozen=True, eq=False)
class Measured:
    """A trained model with its proofs and attacks, in the order of the reviews."""

    name: str
    run: Run
    proofs: Sequence[Certificate]
    attacks: Sequence[AttackResult]


def data_of(
    settings: DemoSettings, out: Path, *, substitutions: str, data_home: Path | None, say: Callable[[str], None]
) -> Data:
    """Reviews at even distances from each split, so that every part of it is there; `say` names what is being read."""
    say("reading 50,000 reviews")
    whole = Reading("imdb").load(data_home=data_home)
    say("reading word vectors (once; then they are at hand)")
    vectors = opt.vectors_of("glove", data_home=data_home)
    say("finding substitutes (where the published list cannot be had, a list is made from WordNet: a minute, once)")
    table = opt.table_of(substitutions, vectors, data_home=data_home)
    if table is None:
        raise LexiconError(expected="a substitution table", got="none", where="--substitutions")
    parts = (_spread(whole.train, settings.reviews), _spread(whole.dev, DEV), _spread(whole.test, settings.limit))
    return Data(
        TextDataset(whole.name, whole.label_names, *parts, whole.duplicates),
        len(whole.train),
        len(whole.test),
        _start_vectors(vectors, table, out),
        table,
    )


def _start_vectors(vectors: EmbeddingTable, table: SubstitutionTable, out: Path) -> EmbeddingTable:
    """Vectors to start from, kept: made anew with another number of threads, their last bits would differ, and a run
    goes on only from exactly where it began."""
    kept = out / f"vectors-{table.hash[:12]}.safetensors"
    if not kept.is_file():
        made = EmbeddingStart(averaged=True, width=min(WIDTH, vectors.width), spread=SPREAD).of(vectors, table)
        save_tensors({"vectors": torch.from_numpy(np.array(made.vectors))}, kept)
    return EmbeddingTable(vectors.words, load_tensors(kept)["vectors"].numpy(), f"{vectors.name}, {WIDTH} directions")


def trained(name: str, data: Data, folder: Path, console: Console) -> Run:
    """A small mean-pooled TextCNN with an embedding of its own, from its checkpoint if there is one."""
    model = TextCNN(
        data.vectors,
        classes=data.dataset.classes,
        filters=64,
        kernel_sizes=(3,),
        pooling="mean",
        dropout=0.0,
        trainable_embedding=True,
    )
    with TrainingView(console) as view:
        return train(
            model,
            data.dataset,
            objective=OBJECTIVES[name],
            substitutions=data.table,
            config=CONFIG,
            seed=0,
            out=folder,
            listener=view,
        )


def chosen(data: Data, folder: Path, console: Console) -> Run:
    """The model that `sgbt train FILE` chooses by default, or the one that an earlier run of the demo has left."""
    if (folder / CONFIG_FILE).is_file():
        kept, about = load_classifier(folder), training_note(folder)
        if (
            kept.table is not None
            and kept.table.hash == data.table.hash
            and about.get("dataset_hash") == data.dataset.hash
        ):
            return Run(kept, RunLog.resume(folder, epoch=0, step=0), folder, about, about["dev"])
    with AutoView(console) as view:
        run: Run = train_auto(data.dataset, table=data.table, seed=0, out=folder, listener=view)
    for line in run.about["auto"]["reasons"]:
        console.print(line, soft_wrap=True, highlight=False)
    return run


def certified(run: Run, data: Data, folder: Path) -> list[Certificate]:
    """A certificate for every test review."""
    with counting() as bars:
        task = bars.add_task(f"certifying {folder.name}", total=len(data.dataset.test))
        return certify(
            run.model,
            data.dataset.test,
            data.table,
            out=folder / "certificates.jsonl",
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )


def kept_texts(data: Data, out: Path) -> Path:
    """The test reviews as a file, so that `sgbt verify` can prove the certificates again."""
    texts, labels = data.dataset.test.texts, data.dataset.test.labels.tolist()
    path = out / "texts.jsonl"
    KnownTexts(dict(enumerate(texts)), dict(enumerate(labels))).write(path)
    return path


def attacked(run: Run, proofs: Sequence[Certificate], data: Data, folder: Path) -> list[AttackResult]:
    """Every test review attacked by every method; a certified one that broke would stop the program."""
    results: list[AttackResult] = []
    for method in METHODS:
        with AttackView(f"{folder.name}, {method}", len(data.dataset.test)) as view:
            own = attack(
                run.model,
                data.dataset.test,
                data.table,
                method=method,
                out=folder / "attacks.jsonl",
                listener=view.tell,
                workers=min(os.cpu_count() or 1, 2),
            )
        check_consistent(proofs, own)
        results += own
    return results


def _spread(split: Split, count: int) -> Split:
    rows = np.linspace(0, len(split) - 1, min(count, len(split))).astype(np.int64)
    return split.take(rows)
