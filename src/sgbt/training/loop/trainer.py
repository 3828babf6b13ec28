"""The loop: epochs of length-bucketed batches, early stopping on dev, exact resumption.

All randomness of a step (dropout, an inner adversary) is drawn from a generator seeded with (seed, epoch, step), and
the order of batches from (seed, epoch). So a run that was killed and resumed ends with the same weights as one that was
not. Several processes (`parallel`) each take a share of every batch, and draw their own randomness.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from sgbt.core.errors import TrainingError
from sgbt.training.config import TrainingConfig
from sgbt.training.loop.checkpoint import TrainingState, load_checkpoint, save_checkpoint, trained_tensors
from sgbt.training.loop.dev_scores import dev_margins, dev_scores
from sgbt.training.loop.listeners import Listener, Listeners
from sgbt.training.loop.log import RunLog
from sgbt.training.loop.parallel import Processes
from sgbt.training.loop.steps import Corpus, Examples, ProcessShare, Step, mixed, steps_of
from sgbt.training.objectives.objective import Loss, Objective, Parts


@dataclass
class Going:
    """What changes while a run goes on."""

    loss: Loss
    stepped: nn.Module
    """The loss, or what averages its gradients over processes."""
    optimiser: torch.optim.Optimizer
    progress: TrainingState
    best: dict[str, Tensor]
    log: RunLog
    saved: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Taken:
    """One step in figures: the loss parts and accuracy of the whole batch, and whether a checkpoint is due."""

    parts: dict[str, float]
    accuracy: float
    texts: int
    due: bool


@dataclass
class Trainer:
    """One run of one objective on one model."""

    linear: ClassVar[bool] = False
    """Whether the model is a linear one, whose worst case is exact."""

    model: Any
    objective: Objective
    config: TrainingConfig
    seed: int
    corpus: Corpus
    train: Examples
    dev: Examples
    folder: Path | None
    settings: str
    listener: Listener
    processes: Processes = field(default_factory=Processes)
    class_weights: Tensor | None = None
    """What a text of each class counts in the loss of a linear model; all the same where there are none."""

    @classmethod
    def prepare(cls, model: Any, objective: Objective, corpus: Corpus, train: Examples) -> Any:
        """The model as training starts: a network as the objective wants it, a linear model with its features."""
        return objective.prepare(model, corpus)

    def run(self) -> RunLog:
        """Train to the end, or go on from the checkpoint; the model has the best epoch's weights afterwards."""
        if not self.processes.first:
            self.listener = Listeners()
        with _denormals_flushed():
            going = self._begin()
            while not going.progress.finished:
                self._epoch(going)
        self.model.load_state_dict(going.best, strict=False)
        return going.log

    def _begin(self) -> Going:
        loss = self._loss()
        rate, decay = self.config.learning_rate, self.config.weight_decay
        optimiser = torch.optim.Adam(self._trainable, lr=rate, weight_decay=decay)
        restored = self._restore(optimiser)
        if restored:
            progress, best = restored
        else:
            progress, best = TrainingState(self.settings), trained_tensors(self.model)
            progress.reference = loss.start(next(self._batches(0, ProcessShare())))
        loss.reference = progress.reference
        resumed = self.processes.from_first(
            lambda: RunLog.resume(self.folder, epoch=progress.epoch, step=progress.step).rows
        )
        log = RunLog(self.folder if self.processes.first else None, resumed)
        return Going(loss, self.processes.wrapped(loss), optimiser, progress, best, log)

    def _loss(self) -> Loss:
        return Loss(self.model, self.objective)

    def _restore(self, optimiser: torch.optim.Optimizer) -> tuple[TrainingState, dict[str, Tensor]] | None:
        folder = self.folder
        if folder is None:
            return None
        restored = self.processes.from_first(lambda: load_checkpoint(folder, self.settings, self.model, optimiser))
        if restored and self.processes.size > 1:  # the others take over what the first has read
            weights, state = self.processes.from_first(lambda: (trained_tensors(self.model), optimiser.state_dict()))
            self.model.load_state_dict(weights, strict=False)
            optimiser.load_state_dict(state)
        return restored

    def _epoch(self, going: Going) -> None:
        progress, log, epoch = going.progress, going.log, going.progress.epoch
        self.listener.epoch(epoch, self.config.epochs, self.steps_per_epoch)
        own = ProcessShare(self.processes.rank, self.processes.size)
        for number, step in enumerate(self._batches(epoch, own, progress.step), start=progress.step):
            torch.manual_seed(mixed(self.seed, epoch, number, self.processes.rank))
            try:
                taken = self._step(going, step, epoch, number)
            except TrainingError:
                self._save(going)  # the weights are those before the step: the last good ones
                raise
            log.add(epoch=epoch, step=number, parts=taken.parts, accuracy=taken.accuracy, texts=taken.texts)
            self.listener.step(number, taken.parts, taken.accuracy, taken.texts)
            progress.step = number + 1
            if taken.due:
                self._save(going)
        self._close(going)

    def _close(self, going: Going) -> None:
        """Score the epoch that was finished, keep its weights if they are the best, and decide whether to go on."""
        progress, epoch = going.progress, going.progress.epoch
        scores = self.scores()
        last = epoch + 1 >= self.config.epochs
        candidate = self.objective.ready(epoch + 1) or (last and progress.best_epoch < 0)
        better = candidate and (not scores or scores["score"] > progress.best_score)
        if better:
            progress.best_score, progress.best_epoch = scores.get("score", -1.0), epoch
            going.best = trained_tensors(self.model)
        going.log.add(epoch=epoch, step=self.steps_per_epoch, dev=scores, best=better)
        progress.epoch, progress.step = epoch + 1, 0
        waited = epoch - progress.best_epoch if progress.best_epoch >= 0 else 0
        progress.finished = last or waited >= self.config.patience
        self._save(going)
        self.listener.scores(epoch, scores, better)  # what a person has seen is on the disk

    def _step(self, going: Going, step: Step, epoch: int, number: int) -> Taken:
        self.model.train()
        going.optimiser.zero_grad(set_to_none=True)
        done = (epoch * self.steps_per_epoch + number) / (self.config.epochs * self.steps_per_epoch)
        for group in going.optimiser.param_groups:
            group["lr"] = self._rate(done)
        hits: list[Tensor] = []
        with _watched(self.model, hits), parametrize.cached():  # vectors that are tied are made once a step
            parts = going.stepped(step)
        taken = self._figures(going, step, parts, hits)
        place = f"epoch {epoch + 1}, step {number + 1}"
        for name, figure in taken.parts.items():
            if not math.isfinite(figure):
                raise _not_finite(f"{figure} in the part {name}", place)
        torch.stack(list(parts.values())).sum().backward()
        norm = float(nn.utils.clip_grad_norm_(self._trainable, self.config.clip))
        if not math.isfinite(norm):
            raise _not_finite(f"a gradient of size {norm} {self._culprit(going.loss, step)}", place)
        going.optimiser.step()
        return taken

    def _rate(self, done: float) -> float:
        """The learning rate when so much of all steps is done, from 0 to 1."""
        return float(self.config.learning_rate * (1 - done) ** self.config.learning_rate_decay)

    def _figures(self, going: Going, step: Step, parts: Parts, hits: list[Tensor]) -> Taken:
        """The figures of the whole batch, from every process's share of it."""
        texts = len(step.labels) if step.weight else 0
        right = float((step.joined(hits[0]).argmax(dim=1) == step.labels).sum()) if hits and texts else 0.0
        due = self.processes.first and time.monotonic() - going.saved > self.config.checkpoint_seconds
        own = [float(part.detach()) / self.processes.size for part in parts.values()]
        *whole, right, texts, due = self.processes.sum(
            torch.tensor([*own, right, texts, due], dtype=torch.float64)
        ).tolist()
        accuracy = right / texts if hits else math.nan
        return Taken(dict(zip(parts, whole, strict=True)), accuracy, int(texts), bool(due))

    def _culprit(self, loss: Loss, step: Step) -> str:
        """Which part has a gradient that is not finite, looked for only once something went wrong."""
        for name, part in loss(step).items():
            found = torch.autograd.grad(part, self._trainable, retain_graph=True, allow_unused=True)
            if not all(bool(gradient.isfinite().all()) for gradient in found if gradient is not None):
                return f"in the part {name}"
        return "in the sum of the parts"

    @property
    def _trainable(self) -> list[nn.Parameter]:
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one epoch."""
        return math.ceil(len(self.train) / self.config.batch_size)

    def _batches(self, epoch: int, share: ProcessShare, skipped: int = 0) -> Iterator[Step]:
        return steps_of(
            self.train,
            size=self.config.batch_size,
            device=self.processes.device,
            substitutes=self.objective.needs_substitutions,
            seed=mixed(self.seed, epoch),
            epoch=epoch,
            skipped=skipped,
            share=share,
        )

    def scores(self) -> dict[str, float]:
        """The scores on dev (`dev_scores`); an epoch without scores counts as better than the last."""
        certifies = self.objective.certifies
        with parametrize.cached():
            found = dev_margins(self.model, self.dev, self.processes, certifies=certifies)
            joined = ((step.joined_margins(own), step.labels) for step, own in found)
            return dev_scores(joined, certifies=certifies, processes=self.processes)

    def _save(self, going: Going) -> None:
        folder = self.folder
        if folder is not None:
            self.processes.from_first(lambda: self._written(going, folder))
        going.saved = time.monotonic()

    def _written(self, going: Going, folder: Path) -> None:
        going.log.flush()
        save_checkpoint(folder, going.progress, self.model, going.optimiser, going.best)


@singledispatch
def trainer_of(model: Any) -> type[Trainer]:
    """What trains such a model; a model with a loop of its own registers it."""
    return Trainer


def _not_finite(got: str, where: str) -> TrainingError:
    return TrainingError(
        expected="a finite loss",
        got=got,
        where=where,
        remedy="the last good weights are kept; lower the learning rate or that part's weight, with another --out",
    )


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
