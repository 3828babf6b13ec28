"""What a person is told of a benchmark before it begins and after it has ended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sgbt.cli.class_view import show_warning
from sgbt.evaluate import Outcome
from sgbt.evaluate.estimate import Estimate


def show_outcome(outcome: Outcome, out: Path, console: Console) -> None:
    """What was done, what failed, and where the records are."""
    for title, error in outcome.failed.items():
        console.print(f"failed: {title}: {error}", soft_wrap=True)
    for record in outcome.records:
        if record.by_class:
            show_warning(record.by_class, console, f"{record.name}: ")
    done = len(outcome.units) - len(outcome.failed)
    console.print(f"{done:,} of {len(outcome.units):,} units done, {len(outcome.failed):,} failed", soft_wrap=True)
    console.print(f"{len(outcome.records):,} run records in {out / 'records.jsonl'}", soft_wrap=True)
    console.print(f"for tables and plots: sgbt report {out} --out report.html", soft_wrap=True)


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
        soft_wrap=True,
    )
    console.print(found.note, soft_wrap=True)


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
