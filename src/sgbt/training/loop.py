"""The loop: epochs of length-bucketed batches, early stopping on dev, exact resumption.

All randomness of a step (dropout, an inner adversary) is drawn from a generator seeded with (seed, epoch, step), and
the order of batches from (seed, epoch). So a run that was killed and resumed ends with the same weights as one that was
not.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from sgbt.data import RaggedIds, batches
from sgbt.errors import TrainingError
from sgbt.lexicon import UNKNOWN, SubstitutionIndex
from sgbt.models import AnyModel, LinearBag, worst_case_logits
from sgbt.training.checkpoint import Progress, load_checkpoint, save_checkpoint, trained_tensors
from sgbt.training.config import TrainingConfig
from sgbt.training.log import RunLog
from sgbt.training.objective import Objective, Parts, Step


class Listener(Protocol):
    """Who hears how training goes."""

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""


class Unheard:
    """The listener that says nothing."""

    def epoch(self, number: int, of: int, steps: int) -> None:
        """Say nothing."""

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """Say nothing."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with their labels, as rows of the substitution index, or as vocabulary ids where there is none.

    A row beyond the vocabulary is a word that only the table knows: the model reads it as unknown, but its substitutes
    count all the same.
    """

    rows: RaggedIds
    labels: np.ndarray
    vocabulary_size: int
    substitutions: SubstitutionIndex | None


class Loss(nn.Module):
    """Model and objective as one module, so that a data-parallel wrapper sees everything that has a gradient."""

    def __init__(self, model: AnyModel, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self.reference: dict[str, float] = {}

    def start(self, step: Step) -> dict[str, float]:
        """What the objective fixes before the first step."""
        assert not isinstance(self.model, LinearBag), "a linear model has a loss of its own"
        return self.objective.start(self.model, step)

    def forward(self, step: Step) -> Parts:
        """The loss parts of one batch."""
        assert not isinstance(self.model, LinearBag), "a linear model has a loss of its own"
        return self.objective.parts(self.model, step, self.reference)


@dataclass
class Trainer:
    """One run of one objective on one model."""

    model: AnyModel
    objective: Objective
    config: TrainingConfig
    seed: int
    train: Examples
    dev: Examples
    folder: Path | None
    settings: str
    listener: Listener

    def run(self) -> RunLog:
        """Train to the end, or go on from the checkpoint; the model has the best epoch's weights afterwards."""
        loss = self._loss()
        trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        optimiser = torch.optim.Adam(trainable, lr=self.config.learning_rate, weight_decay=self.config.weight_decay)
        with _denormals_flushed():
            restored = load_checkpoint(self.folder, self.settings, self.model, optimiser) if self.folder else None
            if restored:
                progress, best = restored
            else:
                progress, best = Progress(self.settings), trained_tensors(self.model)
                progress.reference = loss.start(next(iter(self._batches(0))))
            loss.reference = progress.reference
            log = RunLog.resume(self.folder, epoch=progress.epoch, step=progress.step)
            while not progress.finished:
                best = self._epoch(loss, optimiser, progress, best, log)
        self.model.load_state_dict(best, strict=False)
        return log

    def _loss(self) -> Loss:
        return Loss(self.model, self.objective)

    def _epoch(
        self,
        loss: Loss,
        optimiser: torch.optim.Optimizer,
        progress: Progress,
        best: dict[str, Tensor],
        log: RunLog,
    ) -> dict[str, Tensor]:
        epoch, steps = progress.epoch, self.steps_per_epoch
        self.listener.epoch(epoch, self.config.epochs, steps)
        saved = time.monotonic()
        for number, step in enumerate(self._batches(epoch)):
            if number < progress.step:
                continue
            torch.manual_seed(mixed_seed(self.seed, epoch, number))
            parts, accuracy = self._step(loss, optimiser, step, epoch, number)
            log.add(epoch=epoch, step=number, parts=parts, accuracy=accuracy, texts=len(step.labels))
            self.listener.step(number, parts, accuracy, len(step.labels))
            progress.step = number + 1
            if time.monotonic() - saved > self.config.checkpoint_seconds:
                self._save(progress, optimiser, best, log)
                saved = time.monotonic()
        scores = self.scores()
        better = self.objective.ready(epoch + 1) and scores["score"] > progress.best_score
        if better:
            progress.best_score, progress.best_epoch, best = scores["score"], epoch, trained_tensors(self.model)
        log.add(epoch=epoch, step=steps, dev=scores, best=better)
        self.listener.scores(epoch, scores, better)
        progress.epoch, progress.step = epoch + 1, 0
        waited = epoch - progress.best_epoch if progress.best_epoch >= 0 else 0
        progress.finished = progress.epoch >= self.config.epochs or waited >= self.config.patience
        self._save(progress, optimiser, best, log)
        return best

    def _step(
        self, loss: Loss, optimiser: torch.optim.Optimizer, step: Step, epoch: int, number: int
    ) -> tuple[dict[str, float], float]:
        self.model.train()
        optimiser.zero_grad(set_to_none=True)
        hits: list[Tensor] = []
        with _watched(self.model, hits):
            parts = loss(step)
        figures = {name: float(part.detach()) for name, part in parts.items()}
        for name, figure in figures.items():
            if not math.isfinite(figure):
                raise TrainingError(
                    wanted="a finite loss",
                    got=f"{figure} in the part {name}",
                    where=f"epoch {epoch + 1}, step {number + 1}",
                    remedy="the last good weights are kept; lower the learning rate or that part's weight",
                )
        torch.stack(list(parts.values())).sum().backward()
        trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        nn.utils.clip_grad_norm_(trainable, self.config.clip)
        optimiser.step()
        accuracy = float((hits[0].argmax(dim=1) == step.labels).float().mean()) if hits else math.nan
        return figures, accuracy

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one epoch."""
        return math.ceil(len(self.train.rows) / self.config.batch_size)

    def _batches(self, epoch: int) -> Iterator[Step]:
        yield from _steps(
            self.train,
            self.config.batch_size,
            mixed_seed(self.seed, epoch),
            self.objective,
            epoch,
            self.steps_per_epoch,
            self.device,
        )

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @torch.no_grad()
    def scores(self) -> dict[str, float]:
        """Accuracy on dev and, for objectives that certify, the share that interval propagation proves."""
        self.model.eval()
        right = proven = 0
        for step in _steps(self.dev, 256, None, self.objective, 0, 1, self.device):
            hit = self.model(step.ids, step.mask).argmax(dim=1) == step.labels
            right += int(hit.sum())
            if self.objective.certifies:
                choices = step.choices
                worst = worst_case_logits(self.model, choices.ids, choices.allowed, step.mask, step.labels)
                others = worst.scatter(1, step.labels.unsqueeze(1), -torch.inf)
                proven += int((others.amax(dim=1) < 0).sum())
        total = max(len(self.dev.rows), 1)
        scores = {"accuracy": right / total, "score": right / total}
        if self.objective.certifies:
            scores |= {"certified": proven / total, "score": proven / total}
        return scores

    def _save(self, progress: Progress, optimiser: torch.optim.Optimizer, best: dict[str, Tensor], log: RunLog) -> None:
        if self.folder:
            log.flush()
            save_checkpoint(self.folder, progress, self.model, optimiser, best)


def _steps(
    examples: Examples,
    size: int,
    seed: int | None,
    objective: Objective,
    epoch: int,
    steps: int,
    device: torch.device,
) -> Iterator[Step]:
    labels = torch.from_numpy(examples.labels)
    index = examples.substitutions if objective.needs_substitutions else None
    for number, batch in enumerate(batches(examples.rows, size=size, seed=seed)):
        yield Step(
            ids=batch.ids.masked_fill(batch.ids >= examples.vocabulary_size, UNKNOWN).to(device),
            mask=batch.mask.to(device),
            labels=labels[batch.rows].to(device),
            substitutions=index.for_rows(batch.ids).to(device) if index is not None else None,
            epoch=epoch + number / steps,
        )


def mixed_seed(*numbers: int) -> int:
    """One seed from several numbers."""
    return int(np.random.SeedSequence(list(numbers)).generate_state(1, np.uint64)[0] >> 1)


@contextlib.contextmanager
def _watched(model: nn.Module, outputs: list[Tensor]) -> Iterator[None]:
    """Collect the logits of the model's calls, so that training accuracy costs nothing extra."""
    handle = model.register_forward_hook(lambda _module, _inputs, output: outputs.append(output.detach()))
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def _denormals_flushed() -> Iterator[None]:
    """Treat numbers below 1e-38 as zero while training: gradients through long texts fade into them, and a processor
    computes with them ten times slower."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
