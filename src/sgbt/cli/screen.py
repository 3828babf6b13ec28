"""Screen: where the command line prints. What others wrote appears as it is, and steers nothing."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sgbt.core.errors import SgbtWarning, visible

if TYPE_CHECKING:  # imported where a bar is drawn: `sgbt --help` draws none
    from rich.progress import Progress as Bars
    from rich.progress import TextColumn

LONGEST = 4000
"""Characters of a sentence: what a person typed, or a file has, may be longer than anybody reads."""


class Screen(Console):
    """A console that makes neither colours nor pictures of text unless asked to, and writes control characters out.

    Every piece of text passes `render`, before colours are added to it.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**({"highlight": False, "markup": False, "emoji": False} | settings))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is to be printed, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Lines of text are not broken where the window ends; tables and marked texts are fitted to it."""
        if all(isinstance(each, str) for each in objects):
            settings = {"soft_wrap": True} | settings
        super().print(*objects, **settings)


def say(sentence: str) -> None:
    """One line on standard error: what a person typed may contain anything."""
    line = " ".join(visible(sentence).splitlines())
    shown = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    print(f"sgbt: {shown}", file=sys.stderr, flush=True)


def prepare_streams() -> None:
    """What an encoding cannot write is written as an escape, and a warning of sgbt is one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, SgbtWarning):
            say(f"note: {message}")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show


def counting(*more: TextColumn) -> Bars:
    """A bar on standard error that counts things done of all things; into a file or a pipe, nothing is drawn."""
    from rich import progress as bars

    screen = Screen(stderr=True)
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), *more)
    timed = (*columns, bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
    return bars.Progress(*timed, console=screen, transient=True, disable=not screen.is_interactive)


class Drawn:
    """What is drawn from entry to exit of a `with`, unless nobody would see it."""

    _bars: Any
    _seen: bool

    def __enter__(self) -> Any:
        if self._seen:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._seen:
            self._bars.stop()


class ProgressBars(Drawn):
    """A `sgbt.resources.Progress` that draws; use it as a context manager."""

    def __init__(self) -> None:
        from rich import progress as bars

        columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.DownloadColumn())
        timed = (*columns, bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
        self._bars = bars.Progress(*timed, console=Screen(stderr=True), transient=True)
        self._seen = self._bars.console.is_interactive  # into a file or a pipe, nothing is drawn

    def start(self, task: str, total: int | None) -> None:
        """Draw a new bar; one without a total pulses."""
        self._current = self._bars.add_task(task, total=total)

    def advance(self, amount: int) -> None:
        """Move the newest bar on."""
        self._bars.advance(self._current, amount)

    def finish(self) -> None:
        """Take the newest bar away."""
        if self._bars.tasks:
            self._bars.remove_task(self._bars.tasks[-1].id)
