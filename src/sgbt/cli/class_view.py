"""What a model does with each class, printed, with a warning about one that has one answer for everything."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.core.by_class import ByClass, OneClass
from sgbt.core.shares import Share

MOST = 20
"""So many classes are shown; of more, those with the most texts."""


def show_classes(found: ByClass, console: Console) -> None:
    """A line for each class; then the warning, if there is one."""
    columns: dict[str, Callable[[OneClass], str]] = {
        "texts": lambda each: f"{each.recall.total:,}",
        "right": lambda each: _of(each.recall),
        "answers": lambda each: f"{each.precision.total:,}",
        "right among answers": lambda each: _of(each.precision),
    }
    if any(each.certified is not None for each in found.classes):
        columns["certified"] = lambda each: _of(each.certified or Share(0, 0))
    table = Table("class", *columns, box=None, pad_edge=False)
    shown = sorted(found.classes, key=lambda each: -each.recall.total)[:MOST]
    for each in found.classes:
        if each in shown:
            table.add_row(Text(each.name), *(cell(each) for cell in columns.values()))
    console.print(table)
    if len(found.classes) > MOST:
        console.print(f"and {len(found.classes) - MOST:,} classes with fewer texts", soft_wrap=True)
    show_warning(found, console)


def show_warning(found: ByClass, console: Console, about: str = "") -> None:
    """The warning alone; `about` says which model it is about."""
    if found.warning:
        console.print(Text(f"warning: {about}{found.warning}", style="bold red"), soft_wrap=True)


def _of(share: Share) -> str:
    return f"{share.value:.1%}, {share.count:,} of {share.total:,}" if share.total else "-"
