"""What docs/learn/demo.md shows of the demo's run."""

from __future__ import annotations

import io

from rich.console import Console

from pages.registry import figure
from pages.rows import rows
from sgbt.cli.demo_view import figures
from sgbt.core.shares import Share


@figure
def demo_table() -> str:
    """The table that the demo ends with, as a block of code."""
    console = Console(file=io.StringIO(), width=100, color_system=None, legacy_windows=False)
    console.print(
        figures(
            (
                row["training"],
                Share(row["clean"], row["reviews"]),
                Share(row["robust"], row["reviews"]),
                Share(row["certified"], row["reviews"]),
            )
            for row in rows("speed/demo")
        )
    )
    assert isinstance(console.file, io.StringIO)
    return f"```text\n{console.file.getvalue()}```"


@figure
def demo_seconds() -> str:
    """How long the demo takes, and on how many cores."""
    row = rows("speed/demo")[-1]
    return f"{row['seconds']} seconds on {row['cores']} cores"
