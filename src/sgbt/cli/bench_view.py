"""What a person sees of a benchmark: an estimate, units done, running and failed with the time left, the outcome."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sgbt.cli.certify_view import show_warning
from sgbt.cli.screen import Drawn, Screen
from sgbt.evaluate import Outcome
from sgbt.evaluate.estimate import Estimate
from sgbt.evaluate.schedule import BenchListener, Pace
from sgbt.evaluate.unit import Unit


class BenchView(Drawn, BenchListener):
    """A listener of a benchmark that draws on standard error; use it as a context manager."""

    def __init__(self, title: str, workers: int, console: Console | None = None) -> None:
        self._console = console or Screen(stderr=True)
        self._title = title
        self._pace = Pace(workers)
        self._running: dict[str, tuple[Unit, float, float]] = {}
        self._total = self._done = self._failed = 0
        self._began = time.monotonic()
        self._seen = self._console.is_terminal
        self._bars = Live(get_renderable=self._drawn, console=self._console, refresh_per_second=2, transient=True)

    def planned(self, units: Sequence[Unit], finished: Sequence[Unit]) -> None:
        """What there is to do, and what of it was done before."""
        self._total, self._done = len(units), len(finished)
        done = {unit.key for unit in finished}
        self._pace.expect([unit for unit in units if unit.key not in done])
        self._console.print(f"{self._title}: {len(units):,} units, {len(finished):,} of them done before")

    def started(self, unit: Unit) -> None:
        """A unit was begun."""
        self._running[unit.key] = unit, 0.0, time.monotonic()

    def went_on(self, unit: Unit, fraction: float) -> None:
        """So much of a unit is done."""
        began = self._running[unit.key][2]
        self._running[unit.key] = unit, fraction, began
        self._pace.went_on(unit, fraction, time.monotonic() - began)

    def settled(self, unit: Unit, error: str) -> None:
        """A unit is done, or failed with an error."""
        _, _, began = self._running.pop(unit.key, (unit, 0.0, time.monotonic()))
        took = time.monotonic() - began
        self._pace.settled(unit, took, counts=not error)
        self._done += not error
        self._failed += bool(error)
        line = f"failed: {unit.title}: {error}" if error else f"done: {unit.title}, {_shown(took)}"
        self._console.print(f"{line} ({self._state()})")

    def _state(self) -> str:
        failed = f", {self._failed:,} failed" if self._failed else ""
        left = self._pace.seconds_left()
        time_left = (
            f", about {_shown(left)} left" if left is not None and self._done + self._failed < self._total else ""
        )
        return f"{self._done:,} of {self._total:,} done{failed}{time_left}"

    def _drawn(self) -> Group:
        rows = Table.grid(padding=(0, 1))
        for unit, fraction, began in list(self._running.values()):
            rows.add_row(
                Text(unit.title, overflow="ellipsis", no_wrap=True),
                ProgressBar(total=1.0, completed=fraction, width=24),
                Text(f"{fraction:4.0%}  {_shown(time.monotonic() - began)}"),
            )
        whole = ProgressBar(total=max(self._total, 1), completed=self._done + self._failed, width=60)
        return Group(
            Text(f"{self._state()}, {len(self._running)} running, {_shown(time.monotonic() - self._began)} so far"),
            whole,
            rows,
        )


def _shown(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def show_outcome(outcome: Outcome, out: Path, console: Console) -> None:
    """What was done, what failed, and where the records are."""
    for title, error in outcome.failed.items():
        console.print(f"failed: {title}: {error}")
    for record in outcome.records:
        if record.by_class:
            show_warning(record.by_class, console, f"{record.name}: ")
    done = len(outcome.units) - len(outcome.failed)
    console.print(f"{done:,} of {len(outcome.units):,} units done, {len(outcome.failed):,} failed")
    console.print(f"{len(outcome.records):,} run records in {out / 'records.jsonl'}")
    console.print(f"for tables and plots: sgbt report {out} --out report.html")


def show_estimate(found: Estimate, workers: int, console: Console) -> None:
    """How much work there is, and what it takes on this machine."""
    table = Table("work", "units", "done before", "hours of the others, at most", box=None, pad_edge=False)
    done = Counter(each.unit.kind for each in found.units if each.done)
    for kind in dict.fromkeys(each.unit.kind for each in found.units):
        own = [each for each in found.units if each.unit.kind == kind]
        hours = sum(each.seconds for each in own if not each.done) / 3600
        table.add_row(kind, f"{len(own):,}", f"{done[kind]:,}", _hours(hours))
    console.print(table)
    console.print(
        f"{len(found.units):,} units; at most {_hours(found.hours)} hours of one core, so "
        f"{_hours(found.hours / workers)} hours with {workers} of this machine's cores; "
        f"{found.disk / 2**30:,.3g} GiB of disk",
    )
    console.print(found.note, soft_wrap=True)


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
