"""Reports: tables (Markdown, LaTeX, CSV), plots, and one HTML page that holds everything.

Run records are the only input, and rows are behind those; nothing is measured here. `sgbt.report` is this package and
the function that users call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sgbt.attacks import AttackResult
from sgbt.certify import Certificate
from sgbt.core.callable_package import make_callable
from sgbt.models.folder import CONFIG
from sgbt.report.build import Report, report_of_folder, report_of_records
from sgbt.report.single import report_of_run, report_of_run_folder
from sgbt.training import Run

__all__ = ["Report", "report", "report_of_folder", "report_of_records", "report_of_run"]


def report(
    source: Run | str | Path, proofs: Sequence[Certificate] = (), attacks: Sequence[AttackResult] = ()
) -> Report:
    """The report of a training run or its folder with its proofs and attacks, or of a benchmark's folder."""
    if isinstance(source, Run):
        return report_of_run(source, proofs, attacks)
    if (Path(source) / CONFIG).is_file():
        return report_of_run_folder(source, proofs, attacks)
    return report_of_folder(source)


make_callable(__name__, report)
