"""`sgbt report`: the tables, plots and page of a benchmark or of one run, made anew from rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.screen import Screen
from sgbt.core.errors import EvaluationError

console = Screen()
CERTIFICATES, ATTACKS = "certificates.jsonl", "attacks.jsonl"
"""Where the rows of a run are looked for unless named: in its folder."""


def report_(
    folder: Annotated[Path, typer.Argument(help="Folder of a benchmark (see sgbt bench) or of a trained model.")],
    certificates: opt.Certificates = None,
    attacks: opt.Attacks = None,
    out: Annotated[
        Path, typer.Option(help="The page to write; tables in .md, .tex and .csv are written beside it.")
    ] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page, and the same tables as Markdown, LaTeX and CSV.

    Of a trained model: from the rows named, or from certificates.jsonl and attacks.jsonl in its folder.
    """
    from sgbt.attacks import read_rows as read_attacks
    from sgbt.certify import read_rows
    from sgbt.models.folder import CONFIG
    from sgbt.report import report_of_folder
    from sgbt.report.build import FORMATS
    from sgbt.report.single import report_of_run_folder

    if (folder / CONFIG).is_file():
        proven = certificates or _there(folder / CERTIFICATES)
        broken = attacks or list(filter(None, [_there(folder / ATTACKS)]))
        proofs = read_rows(proven) if proven else []
        made = report_of_run_folder(folder, proofs, [row for path in broken for row in read_attacks(path)])
        for path in (proven, *broken):
            if path:
                console.print(f"rows of {path}")
    elif certificates or attacks:
        raise EvaluationError(
            expected="the folder of a trained model beside --certificates and --attacks",
            got="another folder",
            where=str(folder),
            remedy="a benchmark has its own rows: leave them out",
        )
    else:
        made = report_of_folder(folder)
    made.save(out)
    for suffix in FORMATS:
        if suffix != out.suffix:
            made.save(out.with_suffix(suffix))
    names = ", ".join(out.with_suffix(suffix).name for suffix in FORMATS)
    console.print(f"{len(made.records):,} runs; wrote {names} in {out.parent}")


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None
