"""Report: a benchmark's folder, its records, or a single run turned into a document that can be saved in four
formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sgbt.core.errors import EvaluationError
from sgbt.core.files import atomic_write
from sgbt.core.shares import Share
from sgbt.evaluate import RunRecord, Store, gather, read_records
from sgbt.evaluate.gather import attacks_of, label_names_of
from sgbt.evaluate.plan import Plan
from sgbt.report import drawn, sections
from sgbt.report.document import BrokenText, Document, Figure, ReportTable, Section
from sgbt.report.formats import to_csv, to_html, to_latex, to_markdown
from sgbt.report.methods import MethodRuns, methods_of, share_figure
from sgbt.report.sections import Rows, classes, examples_of, tables_of


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


SHOWN = 12
"""Digits of a hash; rows and model folders have all of them."""
FEW = 8
"""Runs whose hashes are shown at once; those of more unfold."""


def identities(records: Sequence[RunRecord]) -> Section:
    """Every run's model, data and substitutes by their hashes, and the largest rounding slack of its certificates."""
    rows = []
    for record in records:
        slack = record.metrics.get("certified_slack")
        hashes = (record.model_hash.removeprefix("id1-"), record.data_hash, str(record.substitutions.get("hash", "")))
        rows.append(
            (
                Figure(record.name),
                *(Figure(each[:SHOWN] or "-") for each in hashes),
                Figure("-" if slack is None else f"{slack:.1e}"),
            )
        )
    columns = ("run", "model", "data", "substitutes", "rounding slack")
    note = "A certificate counts if its margin exceeds the slack. sgbt verify compares hashes in full."
    table = ReportTable("Hashes", columns, tuple(rows), commands=tuple(record.command for record in records))
    return Section("What the figures are about", note, (table,) if rows else (), folded=len(rows) > FEW)


FORMATS = (".html", ".md", ".tex", ".csv")


@dataclass(frozen=True)
class Report:
    """A document and the records it was made from."""

    document: Document
    records: tuple[RunRecord, ...]

    def save(self, path: str | Path) -> Path:
        """Write the report in the format that the name's ending says: .html, .md, .tex or .csv."""
        path = Path(path)
        if path.suffix not in FORMATS:
            raise EvaluationError(
                expected=f"a file name that ends in {', '.join(FORMATS)}", got=path.name, where="the report"
            )
        with atomic_write(path) as stream:
            stream.write(self.text(path.suffix).encode())
        return path

    def text(self, suffix: str) -> str:
        """The report in one format."""
        if suffix == ".csv":
            return to_csv(self.records)
        return {".html": to_html, ".md": to_markdown, ".tex": to_latex}[suffix](self.document)


def report_of_folder(folder: str | Path) -> Report:
    """The report of a benchmark's folder, from its rows; where only `records.jsonl` is there, from that, without
    examples."""
    store = Store(folder)
    if not store.folder.is_dir():
        raise EvaluationError(
            expected="the folder of a benchmark", got="nothing there", where=str(folder), remedy="run sgbt bench first"
        )
    plan = Plan.load(store.folder)
    records = gather(store) if any(store.folder.glob("units/*/result.json")) else read_records(store.folder)
    if not records:
        raise EvaluationError(
            expected="finished runs", got="none yet", where=str(folder), remedy="wait for sgbt bench to train a model"
        )
    pairs = [(pair[0], pair[1]) for about in plan.grids.values() for pair in about["pairs"]]
    titles = [str(about["title"]) for about in plan.grids.values()]
    return report_of_records(records, title="; ".join(titles) or None, pairs=pairs, examples=_examples(records, store))


def report_of_records(
    records: Sequence[RunRecord],
    *,
    title: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    examples: Sequence[BrokenText] = (),
) -> Report:
    """The report of some records."""
    methods = methods_of(records)
    budget = sections.budgets(methods)
    found = [
        sections.results(methods),
        drawn.trade_off(methods),
        sections.beside_the_paper(methods),
        drawn.penalties(methods),
        sections.pairs(methods, list(dict.fromkeys(pairs))),
        Section(budget.title, budget.note, budget.tables, tuple(drawn.by_budget(methods))),
        Section(
            "Texts that were broken",
            "Those with the fewest changes: the word that was there, and the one that an attack put in its place.",
            examples=tuple(examples),
        ),
        *(each for each in [threats(methods)] if each.tables),
        classes(methods),
        sections.weakest(methods),
        sections.attack_details(methods),
        sections.costs(methods),
        identities(records),
        drawn.training_curves(methods),
    ]
    document = Document(
        title=title or ", ".join(dict.fromkeys(record.grid for record in records)),
        note=_about(records),
        sections=tuple(section for section in found if not section.empty),
    )
    return Report(document, tuple(records))


def _about(records: Sequence[RunRecord]) -> str:
    commits = ", ".join(dict.fromkeys(record.commit[:12] for record in records if record.commit))
    return (
        f"{len(records)} runs of sgbt{f' at {commits}' if commits else ''}. With every row goes the command that makes "
        "its figures; sgbt report makes this report again, bit for bit, from the rows of the benchmark."
    )


def _examples(records: Sequence[RunRecord], store: Store) -> list[BrokenText]:
    """A few broken texts of every model's first seed."""
    found: list[BrokenText] = []
    seen = set()
    for record in records:
        if record.method in seen:
            continue
        seen.add(record.method)
        results = [
            result
            for role, key in sorted(record.units.items())
            if role.startswith("attack ") and store.finished(key)
            for result in attacks_of(store, key)
        ]
        if results:
            found += examples_of(results, record.name, label_names_of(store, record.units["train"]))
    return found
