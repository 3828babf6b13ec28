"""`sgbt report`: the tables, plots and page of a benchmark, made anew from its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli.screen import Screen

console = Screen()


def report_(
    folder: Annotated[Path, typer.Argument(help="Folder of a benchmark, or of its run records; see sgbt bench.")],
    out: Annotated[
        Path, typer.Option(help="The page to write; tables in .md, .tex and .csv are written beside it.")
    ] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page, and the same tables as Markdown, LaTeX and CSV."""
    from sgbt.report import report_of_folder
    from sgbt.report.build import FORMATS

    made = report_of_folder(folder)
    made.save(out)
    for suffix in FORMATS:
        if suffix != out.suffix:
            made.save(out.with_suffix(suffix))
    names = ", ".join(out.with_suffix(suffix).name for suffix in FORMATS)
    console.print(f"{len(made.records):,} runs; wrote {names} in {out.parent}", soft_wrap=True)
