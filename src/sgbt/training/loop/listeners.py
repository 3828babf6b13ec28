"""Listeners: what is called as training goes on, such as a view on the screen, TensorBoard or a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sgbt.core.errors import TrainingError


class Listener(Protocol):
    """Called for every epoch and every step, in order; a resumed run begins in the middle of an epoch.

    A listener may also have `preparing(title, done, of)`, called during long work before the first epoch, and
    `for_parts()`, the listener of linear models that are fitted before a network.
    """

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""


class Listeners:
    """Several listeners as one; without any, the listener that does nothing."""

    def __init__(self, *listeners: Listener) -> None:
        self._all = listeners

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        for listener in self._all:
            listener.epoch(number, of, steps)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        for listener in self._all:
            listener.step(number, parts, accuracy, examples)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        for listener in self._all:
            listener.scores(number, scores, best)

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts of all were prepared before the first epoch."""
        for listener in self._all:
            preparing(listener, title, done, of)

    def for_parts(self) -> Listener:
        """The listeners of linear models that are fitted before a network: those that have one.

        A listener that counts or times epochs means those of the network.
        """
        asked = (getattr(listener, "for_parts", None) for listener in self._all)
        return Listeners(*(own() for own in asked if own is not None))


def preparing(listener: Listener, title: str, done: int, of: int) -> None:
    """Report work before the first epoch to a listener that has `preparing`."""
    report = getattr(listener, "preparing", None)
    if report is not None:
        report(title, done, of)


@dataclass
class FitsAsOne(Listeners):
    """Reports several fits to a listener as one run: the epochs of each are counted on from the one before."""

    listener: Listener
    fits: int
    fit: int = -1
    of: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.listener)

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch of a fit begins; with the first of them, the next fit."""
        self.fit += number == 0
        self.of = of
        super().epoch(self.fit * of + number, self.fits * of, steps)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        super().scores(self.fit * self.of + number, scores, best)


class TensorBoardListener:
    """Scalars `loss/<part>`, `train/accuracy` and `dev/<score>` by step, in the folder's `tensorboard` folder.

    A resumed run makes TensorBoard drop what the interrupted one wrote beyond the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise TrainingError(
                expected="the package tensorboard",
                got="none installed",
                where="--tensorboard",
                remedy="install it (pip install tensorboard), or leave that option out: log.jsonl has the same figures",
            ) from problem
        self._make, self._folder = SummaryWriter, folder / "tensorboard"
        self._writer: Any = None
        self._before = self._steps = 0

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self._before, self._steps = number * steps, steps

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self._write("loss", parts, self._before + number)
        self._write("train", {"accuracy": accuracy}, self._before + number)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        self._write("dev", scores, self._before + self._steps)
        self._writer.flush()

    def _write(self, group: str, figures: dict[str, float], place: int) -> None:
        if self._writer is None:
            self._writer = self._make(str(self._folder), purge_step=place)
        for name, figure in figures.items():
            self._writer.add_scalar(f"{group}/{name}", figure, place)
