"""Progress bars on standard error, for work whose size is known and for work whose size is not."""

from __future__ import annotations

from types import TracebackType

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from sgbt.cli.screen import Screen


def counting(*more: TextColumn) -> Bars:
    """A bar on standard error that counts things done of all things; into a file or a pipe, nothing is drawn."""
    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *more)
    timed = (*columns, TimeElapsedColumn(), TimeRemainingColumn())
    return Bars(*timed, console=screen, transient=True, disable=not screen.is_interactive)


class ProgressBars:
    """A `sgbt.resources.Progress` that draws; use it as a context manager."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bars = Bars(*columns, console=Screen(stderr=True), transient=True)
        self._drawn = self._bars.console.is_interactive  # into a file or a pipe, nothing is drawn

    def __enter__(self) -> ProgressBars:
        if self._drawn:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._bars.stop()

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
