"""What a person sees while a model trains: a live line in a terminal, an occasional line in a log file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

QUIET_SECONDS = 30.0


class TrainingView:
    """A listener of the training loop that draws on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, TextColumn("{task.fields[told]}"), console=console, transient=True)
        self._task = self._bars.add_task("training", total=1, told="", visible=False)
        self._prepared = time.monotonic()

    def __enter__(self) -> TrainingView:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self.begin(f"epoch {number + 1} of at most {of}", steps)

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts were prepared before the first epoch."""
        now = time.monotonic()
        if self._console.is_terminal:
            self._bars.update(self._task, total=of, completed=done, description=title, told="", visible=True)
        elif now - self._prepared > QUIET_SECONDS:
            self._console.print(f"{title}: {done:,} of {of:,} texts", soft_wrap=True)
            self._prepared = now

    def for_parts(self) -> PartsView:
        """A linear model that is fitted first is shown as such."""
        return PartsView(self)

    def begin(self, title: str, steps: int) -> None:
        """An epoch of this title begins."""
        self._title = title
        self._steps, self._began, self._told = steps, time.monotonic(), time.monotonic()
        self._texts, self._right, self._sums, self._seen = 0, 0.0, dict[str, float](), 0
        self._bars.reset(self._task, total=steps, description=self._title, told="", visible=True)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken: show running means of the loss parts, accuracy, and texts per second."""
        self._texts += examples
        self._seen += 1
        self._right += accuracy * examples
        for name, part in parts.items():
            self._sums[name] = self._sums.get(name, 0.0) + part
        now = time.monotonic()
        if self._console.is_terminal:
            self._bars.update(self._task, completed=number + 1, told=self._state(now))
        elif now - self._told > QUIET_SECONDS:
            left = (now - self._began) / self._seen * (self._steps - number - 1)
            self._console.print(
                f"{self._title}, step {number + 1} of {self._steps}: {self._state(now)}, {left:.0f} s left",
                soft_wrap=True,
            )
            self._told = now

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        told = ", ".join(f"dev {name} {value:.2%}" for name, value in scores.items() if name != "score")
        mark = " (best so far)" if best else ""
        took = f"{time.monotonic() - self._began:.0f} s"
        state = [self._state(time.monotonic()), *([told + mark] if told else []), took]
        self._console.print(f"{self._title}: {'; '.join(state)}", soft_wrap=True)

    def _state(self, now: float) -> str:
        if not self._seen:
            return "nothing left of it"
        parts = " ".join(f"{name} {total / self._seen:.3f}" for name, total in self._sums.items())
        speed = self._texts / max(now - self._began, 1e-9)
        return f"{parts}, accuracy {self._right / self._texts:.1%}, {speed:,.0f} texts/s"


@dataclass(frozen=True)
class PartsView:
    """What is shown of a linear model that is fitted before the network."""

    view: TrainingView

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self.view.begin(f"before the network, epoch {number + 1} of at most {of}", steps)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        self.view.step(number, parts, accuracy, examples)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        self.view.scores(number, scores, best)

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts were prepared before the first epoch."""
        self.view.preparing(f"before the network, {title}", done, of)
