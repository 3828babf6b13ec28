"""The section of a report on certificates against threats beyond the table of substitutes."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.core.shares import Share
from sgbt.report.document import Figure, Section
from sgbt.report.methods import MethodRuns, share_figure
from sgbt.report.sections import Rows, tables_of


def threats(methods: Sequence[MethodRuns]) -> Section:
    """Certified accuracy against threats beyond the table of substitutes."""

    def make(group: list[MethodRuns]) -> tuple[list[str], Rows]:
        names = list(dict.fromkeys(name for each in group for run in each.records for name in run.threats))
        return ["method", "clean", *names], [
            (each, (Figure(each.label), each.figure("clean"), *(_against(each, name) for name in names)))
            for each in group
            if any(run.threats for run in each.records)
        ]

    note = (
        "The share of all texts, in percent, whose label nothing that the threat allows changes, proven. Threats are "
        "written as on the command line."
    )
    return Section("Certified against threats", note, tables_of(methods, make))


def _against(method: MethodRuns, threat: str) -> Figure:
    found = [run.threats[threat] for run in method.records if threat in run.threats]
    return share_figure([Share(int(each["certified_count"]), int(each["certified_total"])) for each in found])
